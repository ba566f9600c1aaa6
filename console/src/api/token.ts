/** The operator's token, under the name that the interface specification gives it. */

import { signal } from "@preact/signals";

export const TOKEN_NAME = "service.auth_token";
const FRAGMENT = "tidegate.fragment";

export const token = signal<string | null>(localStorage.getItem(TOKEN_NAME));

// Another tab signed in or out.
addEventListener("storage", (event) => {
  if (event.key === TOKEN_NAME) token.value = event.newValue;
  if (event.key === null) token.value = null;
});

export function keepToken(text: string): void {
  localStorage.setItem(TOKEN_NAME, text);
  token.value = text;
}

export function forgetToken(): void {
  localStorage.removeItem(TOKEN_NAME);
  token.value = null;
}

/** Takes a token out of the address, which is replaced at once: no history entry keeps it.
 *
 * Only on this machine itself, for the demonstration: elsewhere such a link could log somebody in
 * as somebody else, so a token comes by `/login/callback` alone.
 */
export function takeFromHash(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("access_token");
  if (given === null) return;
  history.replaceState(null, "", location.pathname);
  if (["127.0.0.1", "[::1]", "localhost"].includes(location.hostname)) keepToken(given);
}

/** Goes to the login, which leads back here. The fragment stays in this tab: what an operator
 * filters by is in no request. */
export function logIn(): void {
  sessionStorage.setItem(FRAGMENT, JSON.stringify([location.pathname, location.hash]));
  location.assign(`/login?${new URLSearchParams({ next: location.pathname }).toString()}`);
}

/** Puts back the fragment of the page that the login led away from. */
export function restoreFragment(): void {
  const kept = sessionStorage.getItem(FRAGMENT);
  sessionStorage.removeItem(FRAGMENT);
  if (kept === null) return;
  const [path, hash] = JSON.parse(kept) as [string, string];
  if (path === location.pathname && !location.hash) history.replaceState(null, "", path + hash);
}
