/** The frame around every page: tenant, time range, navigation, and the operator. */

import { useIsFetching } from "@tanstack/preact-query";
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Copy } from "../parts/copy";
import { api, lostSince, queries } from "../api/client";
import { forgetToken } from "../api/token";
import { ROUTES } from "../routes";
import { text } from "../text/en";
import { overlay } from "./keys";
import { Overlays } from "./palette";
import { lastingAddress } from "./place";
import { Lost, Pending, Refresh } from "./refresh";
import { RangeSwitch } from "./range";
import type { Me, Membership } from "./session";
import { theme, type Theme } from "./theme";

export function Shell(props: { me: Me; tenant: Membership; children: ComponentChildren }) {
  const { me, tenant, children } = props;
  const fetching = useIsFetching();
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {text.frame.skip}
      </a>
      <header>
        <div class="row spread">
          <div class="row">
            <strong>{text.product}</strong>
            <TenantSwitch me={me} tenant={tenant} />
          </div>
          <div class="row">
            <button type="button" onClick={() => (overlay.value = "palette")}>
              {text.frame.search} <kbd>Ctrl K</kbd>
            </button>
            <RangeSwitch />
            <Refresh />
            <Copy value={lastingAddress()} what={text.frame.link} isNamed />
            <ThemeSwitch />
            <SignOut me={me} />
          </div>
        </div>
        <Pages tenant={tenant} />
      </header>
      <Lost />
      <Pending />
      <main
        id="main"
        class={lostSince.value === null ? "" : "stale"}
        tabIndex={-1}
        aria-busy={fetching > 0}
      >
        {children}
      </main>
      <Overlays />
    </div>
  );
}

function Pages({ tenant }: { tenant: Membership }) {
  const { path } = useLocation();
  const base = `/console/${tenant.slug}/`;
  return (
    <nav aria-label={text.product}>
      <ul>
        {ROUTES.map(({ nav, path: below }) => {
          if (nav === undefined) return null;
          // The router gives the path without a trailing slash.
          const isHere = below === "" ? `${path}/` === base : path.startsWith(base + below);
          return (
            <li>
              <a href={base + below} {...(isHere ? { "aria-current": "page" as const } : {})}>
                {text.pages[nav]}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function TenantSwitch({ me, tenant }: { me: Me; tenant: Membership }) {
  const { route } = useLocation();
  return (
    <label>
      <span class="hidden">{text.frame.tenant}</span>
      <select
        value={tenant.slug}
        onChange={(event) => {
          route(`/console/${event.currentTarget.value}/`);
        }}
      >
        {me.memberships.map((each) => (
          <option value={each.slug}>{each.name}</option>
        ))}
      </select>
    </label>
  );
}

function ThemeSwitch() {
  return (
    <label>
      <span class="hidden">{text.frame.theme}</span>
      <select
        value={theme.value}
        onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
      >
        {(["system", "light", "dark"] as const).map((each) => (
          <option value={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

function SignOut({ me }: { me: Me }) {
  const [failed, setFailed] = useState(false);
  async function signOut(): Promise<void> {
    try {
      await api.DELETE("/api/v1/auth/token");
    } catch {
      // A token that couldn't be revoked stays valid, so tell the operator.
      setFailed(true);
      return;
    }
    queries.clear();
    forgetToken();
  }
  return (
    <span class="row">
      <span class="quiet">{me.name}</span>
      <button type="button" onClick={signOut}>
        {failed ? text.frame.retry : text.frame.signOut}
      </button>
    </span>
  );
}
