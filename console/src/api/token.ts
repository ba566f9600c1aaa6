/** The operator's token, stored under the name from the interface specification. */

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

/** Takes a token from the address, and replaces the address at once so the history doesn't keep it.
 *
 * Only on the local machine, for the demonstration. Elsewhere such a link could log somebody in as
 * somebody else, so tokens are only accepted on `/login/callback`.
 */
export function takeFromHash(): void {
  const hash = new URLSearchParams(location.hash.slice(1));
  const given = hash.get("access_token");
  if (given === null) return;
  hash.delete("access_token");
  history.replaceState(null, "", location.pathname + (hash.size ? `#${hash.toString()}` : ""));
  if (["127.0.0.1", "[::1]", "localhost"].includes(location.hostname)) keepToken(given);
}

/** Goes to the login, which leads back here. The fragment stays in this tab, so that filters are
 * never part of a request. */
export function logIn(): void {
  sessionStorage.setItem(FRAGMENT, JSON.stringify([location.pathname, location.hash]));
  location.assign(`/login?${new URLSearchParams({ next: location.pathname }).toString()}`);
}

/** Restores the fragment of the page that was open before the login. */
export function restoreFragment(): void {
  const kept = sessionStorage.getItem(FRAGMENT);
  sessionStorage.removeItem(FRAGMENT);
  if (kept === null) return;
  const [path, hash] = JSON.parse(kept) as [string, string];
  if (path === location.pathname && !location.hash) history.replaceState(null, "", path + hash);
}
