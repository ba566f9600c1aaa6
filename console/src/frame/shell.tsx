/** The frame around every page: navigation, tenant, search, time range, and the operator. */

import { useIsFetching } from "@tanstack/preact-query";
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { lostSince } from "../api/client";
import { Icon } from "../parts/icon";
import { text } from "../text/en";
import { overlay } from "./keys";
import { DRAWER, Navigation } from "./navigation";
import { Overlays } from "./palette";
import { OwnRange, RangeSwitch } from "./range";
import { Lost, Pending, Refresh } from "./refresh";
import type { Me, Membership } from "./session";
import { UserMenu } from "./user-menu";

const words = text.frame;

export function Shell(props: { me: Me; tenant: Membership; children: ComponentChildren }) {
  const { me, tenant, children } = props;
  const fetching = useIsFetching();
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {words.skip}
      </a>
      <Navigation tenant={tenant} />
      <div class="body">
        <header>
          <div class="bar">
            <button type="button" class="square menu-button" popovertarget={DRAWER}>
              <Icon name="menu" />
              <span class="hidden">{words.menu}</span>
            </button>
            <TenantSwitch me={me} tenant={tenant} />
            <button type="button" class="search" onClick={() => (overlay.value = "palette")}>
              <Icon name="search" />
              <span class="name">{words.search}</span> <kbd>Ctrl K</kbd>
            </button>
            <RangeSwitch />
            <Refresh />
            <UserMenu me={me} />
          </div>
          <OwnRange />
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
      </div>
      <Overlays />
    </div>
  );
}

function TenantSwitch({ me, tenant }: { me: Me; tenant: Membership }) {
  const { route } = useLocation();
  return (
    <label>
      <span class="hidden">{words.tenant}</span>
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
