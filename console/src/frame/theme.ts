/** Light or dark theme: the system's, or the operator's choice. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const NAME = "tidegate.theme";
const kept = localStorage.getItem(NAME);

export const theme = signal<Theme>(kept === "light" || kept === "dark" ? kept : "system");

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (theme.value === "system") localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, theme.value);
});
