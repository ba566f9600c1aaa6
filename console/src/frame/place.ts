/** What the address says beyond its path: time range and filters, in the fragment, which no server
 * and no log ever sees. */

import { computed, signal } from "@preact/signals";

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));
addEventListener("popstate", () => (fragment.value = location.hash));

export const filters = computed(() => new URLSearchParams(fragment.value.slice(1)));

/** Changes some filters and keeps the others; an empty value takes one away. */
export function setFilters(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(fragment.value.slice(1));
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const hash = next.size ? `#${next.toString()}` : "";
  history.replaceState(null, "", location.pathname + hash);
  fragment.value = hash;
}

/** After a step to another page, whose address may have another fragment. */
export function followAddress(): void {
  fragment.value = location.hash;
}

export const RANGES = {
  "15m": { label: "last 15 min", seconds: 900, step: 60 },
  "1h": { label: "last hour", seconds: 3_600, step: 60 },
  "6h": { label: "last 6 h", seconds: 21_600, step: 300 },
  "24h": { label: "last 24 h", seconds: 86_400, step: 900 },
  "7d": { label: "last 7 days", seconds: 604_800, step: 3_600 },
  "30d": { label: "last 30 days", seconds: 2_592_000, step: 21_600 },
} as const;
export type RangeName = keyof typeof RANGES;
export const DEFAULT_RANGE: RangeName = "6h";

export const range = computed<RangeName>(() => {
  const named = filters.value.get("range");
  return named !== null && named in RANGES ? (named as RangeName) : DEFAULT_RANGE;
});

/** The beginning of the range, to a whole step, so that the same question has the same key. */
export function since(name: RangeName, now: number): string {
  const { seconds, step } = RANGES[name];
  const end = Math.ceil(now / 1_000 / step) * step;
  return new Date((end - seconds) * 1_000).toISOString();
}
