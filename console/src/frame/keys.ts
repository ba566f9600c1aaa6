/** Keyboard shortcuts. Single keys can be turned off, for dictation and accidental typing. */

import { effect, signal } from "@preact/signals";
import { ROUTES } from "../routes";
import { text } from "../text/en";

const NAME = "tidegate.keys";
export const hasSingleKeys = signal(localStorage.getItem(NAME) !== "off");
effect(() => {
  if (hasSingleKeys.value) localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, "off");
});

/** The overlay over the page: the palette, the list of keys, or none. */
export const overlay = signal<"palette" | "keys" | null>(null);

/** The page that `g` and a letter open. */
export const LETTERS: Readonly<Record<string, string>> = {
  o: "",
  t: "traffic",
  d: "decisions",
  p: "policies",
  a: "actions",
  m: "mitigations",
  l: "lists",
  e: "entities",
  n: "active",
  b: "overrides",
  w: "alerts",
  r: "replay",
  c: "catalog",
  u: "audit",
  s: "settings",
};

/** The names of the pages, by their paths. */
export function pageName(path: string): string {
  const nav = ROUTES.find((each) => each.path === path)?.nav;
  return nav === undefined ? path : text.pages[nav];
}

function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0];
  return (
    at instanceof HTMLElement &&
    (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName))
  );
}

/** Moves the focus to the previous or next row. */
function stepRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("main tbody a:first-of-type")];
  const rows = links.filter((link, at) => links[at - 1]?.closest("tr") !== link.closest("tr"));
  const here = rows.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  rows[Math.max(0, here + by)]?.focus();
}

const SINGLE: Readonly<Record<string, () => void>> = {
  "?": () => (overlay.value = "keys"),
  "/": () => document.querySelector<HTMLElement>("main input, main select")?.focus(),
  j: () => {
    stepRow(1);
  },
  k: () => {
    stepRow(-1);
  },
  e: () => document.querySelector<HTMLElement>("main form input, main form textarea")?.focus(),
};

/** Kept outside the listener, since each new address makes a new one, maybe between two keys. */
let isAfterG = false;

/** Listens to keys until the returned function is called.
 *
 * @param go shows a page of the tenant, by its path.
 */
export function listenToKeys(go: (path: string) => void): () => void {
  function pressed(event: KeyboardEvent): void {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      overlay.value = "palette";
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isPlain || !hasSingleKeys.value || overlay.value !== null || isTyping(event)) return;
    const page = isAfterG ? LETTERS[event.key] : undefined;
    const act =
      page === undefined
        ? SINGLE[event.key]
        : () => {
            go(page);
          };
    isAfterG = event.key === "g" && !isAfterG;
    if (!act) return;
    event.preventDefault();
    act();
  }
  addEventListener("keydown", pressed);
  return () => {
    removeEventListener("keydown", pressed);
  };
}
