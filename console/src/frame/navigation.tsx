/** The navigation: a column of groups, folded to icons on demand, and a drawer on narrow screens. */

import { effect, signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon";
import { ROUTES } from "../routes";
import mark from "../style/mark.svg";
import { text } from "../text/en";
import type { Membership } from "./session";

const words = text.frame;
const GROUPS = [
  [
    words.groups.observe,
    ["overview", "decisions", "traffic", "entities", "agents", "active", "overrides", "alerts"],
  ],
  [
    words.groups.define,
    ["policies", "actions", "mitigations", "lists", "entityDefinitions", "packs"],
  ],
  [words.groups.prove, ["replay", "catalog", "audit"]],
] as const;
type Nav = keyof typeof text.pages;

/** The id of the drawer, for the button that opens it. */
export const DRAWER = "pages";

const NAME = "tidegate.side";
const isFolded = signal(localStorage.getItem(NAME) === "icons");
effect(() => {
  if (isFolded.value) {
    document.documentElement.dataset["side"] = "icons";
    localStorage.setItem(NAME, "icons");
  } else {
    delete document.documentElement.dataset["side"];
    localStorage.removeItem(NAME);
  }
});

export function Navigation({ tenant }: { tenant: Membership }) {
  const { path } = useLocation();
  const drawer = useRef<HTMLElement>(null);
  const base = `/console/${tenant.slug}/`;
  useEffect(() => {
    if (drawer.current?.matches(":popover-open")) drawer.current.hidePopover();
  }, [path]);
  const page = (nav: Nav) => <Page key={nav} nav={nav} base={base} path={path} />;
  return (
    <nav class="side" id={DRAWER} popover="auto" ref={drawer} aria-label={text.product}>
      <a class="brand" href={base} title={words.home}>
        <img src={mark} alt="" />
        <span class="name">{text.product}</span>
      </a>
      {GROUPS.map(([name, pages]) => (
        <>
          <p id={`group-${name}`}>{name}</p>
          <ul aria-labelledby={`group-${name}`}>{pages.map(page)}</ul>
        </>
      ))}
      <ul class="last">{page("settings")}</ul>
      <button
        type="button"
        class="fold"
        aria-expanded={!isFolded.value}
        title={words.fold}
        onClick={() => (isFolded.value = !isFolded.value)}
      >
        <Icon name="side" />
        <span class="name">{words.fold}</span>
      </button>
    </nav>
  );
}

function Page({ nav, base, path }: { nav: Nav; base: string; path: string }) {
  const below = ROUTES.find((each) => each.nav === nav)?.path ?? "";
  // The router gives the path without a trailing slash.
  const isHere = below === "" ? `${path}/` === base : `${path}/`.startsWith(`${base}${below}/`);
  return (
    <li>
      <a
        href={base + below}
        title={text.pages[nav]}
        {...(isHere ? { "aria-current": "page" as const } : {})}
      >
        <Icon name={nav} />
        <span class="name">{text.pages[nav]}</span>
      </a>
    </li>
  );
}
