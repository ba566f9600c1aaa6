/** The menu of the operator: theme, refresh, a link to the page, shortcuts, and the way out. */

import { useState } from "preact/hooks";
import { api, queries } from "../api/client";
import { forgetToken } from "../api/token";
import { Copy } from "../parts/copy";
import { CheckField } from "../parts/form";
import { Icon } from "../parts/icon";
import { text } from "../text/en";
import { overlay } from "./keys";
import { lastingAddress } from "./place";
import { follows } from "./refresh";
import type { Me } from "./session";
import { theme, type Theme } from "./theme";

const words = text.frame;
const MENU = "user-menu";

export function UserMenu({ me }: { me: Me }) {
  return (
    <>
      <button type="button" class="square" popovertarget={MENU} title={me.name}>
        <Icon name="user" />
        <span class="hidden">{words.account}</span>
      </button>
      <div class="menu" id={MENU} popover="auto">
        <div>
          {words.signedInAs} <strong>{me.name}</strong>
        </div>
        <ThemeSwitch />
        <CheckField
          label={words.follow}
          value={follows.value}
          onChange={(isWanted) => (follows.value = isWanted)}
        />
        <Copy value={lastingAddress()} what={words.link} isNamed />
        <button
          type="button"
          popovertarget={MENU}
          popovertargetaction="hide"
          onClick={() => (overlay.value = "keys")}
        >
          {text.palette.keys} <kbd>?</kbd>
        </button>
        <SignOut />
      </div>
    </>
  );
}

function ThemeSwitch() {
  return (
    <label class="field">
      {words.theme}
      <select
        value={theme.value}
        onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
      >
        {(["system", "light", "dark"] as const).map((each) => (
          <option value={each}>{words.themes[each]}</option>
        ))}
      </select>
    </label>
  );
}

function SignOut() {
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
    <button type="button" onClick={signOut}>
      {failed ? words.retry : words.signOut}
    </button>
  );
}
