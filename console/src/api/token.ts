/** The operator's token, under the name that the interface specification gives it. */

import { signal } from "@preact/signals";

export const TOKEN_NAME = "service.auth_token";
const AFTER_LOGIN = "tidegate.after_login";

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

/** Takes a token out of the address, which is replaced at once: no history entry keeps it. */
export function takeFromHash(): boolean {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = given.get("token") ?? given.get("access_token");
  if (location.hash) history.replaceState(null, "", location.pathname);
  if (!found) return false;
  keepToken(found);
  return true;
}

/** Where the operator wanted to go before the login; the tab alone remembers it. */
export function rememberPlace(): void {
  const here = location.pathname + location.hash;
  if (location.pathname.startsWith("/console/")) sessionStorage.setItem(AFTER_LOGIN, here);
}

export function takePlace(): string {
  const place = sessionStorage.getItem(AFTER_LOGIN) ?? "/console/";
  sessionStorage.removeItem(AFTER_LOGIN);
  return place.startsWith("/console/") ? place : "/console/";
}
