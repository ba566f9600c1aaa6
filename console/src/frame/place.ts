/** Time range and filters, in the fragment of the address, which servers and logs never see. */

import { computed, signal } from "@preact/signals";
import { iso, periodOf } from "./ranges";

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));
addEventListener("popstate", () => (fragment.value = location.hash));

export const filters = computed(() => new URLSearchParams(fragment.value.slice(1)));

/** Changes some filters and keeps the others; an empty value removes a filter. */
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

const OF_RANGE = ["range", "from", "to"] as const;

/** Keeps the time range on another page, unless the new address has one. */
export function followAddress(): void {
  const next = new URLSearchParams(location.hash.slice(1));
  if (!OF_RANGE.some((name) => next.has(name))) {
    for (const name of OF_RANGE) {
      const kept = filters.peek().get(name);
      if (kept !== null) next.set(name, kept);
    }
    if (next.size)
      history.replaceState(history.state, "", `${location.pathname}#${next.toString()}`);
  }
  fragment.value = location.hash;
  askAnew();
}

/** The current address with fixed times, so that it shows the same later. */
export function lastingAddress(): string {
  const kept = new URLSearchParams(filters.value);
  kept.delete("range");
  kept.set("from", period.value.since);
  kept.set("to", iso(end()));
  return `${location.origin}${location.pathname}#${kept.toString()}`;
}

/** The time of the last load; ranges that end now end at this time. */
const asked = signal(Date.now());

/** Reloads with newer traffic. */
export function askAnew(): void {
  asked.value = Date.now();
}

export const period = computed(() => periodOf(filters.value, asked.value));

/** The time range as parameters of a call. */
export function bounds(): { since: string; until?: string } {
  const { since, until } = period.value;
  return until === null ? { since } : { since, until };
}

/** The previous range of the same length. */
export function boundsBefore(): { since: string; until: string } {
  const { since, seconds } = period.value;
  return { since: iso(Date.parse(since) - seconds * 1_000), until: since };
}

/** The end of the range; now, when it has none. */
export function end(): number {
  const { until } = period.value;
  return until === null ? asked.value : Date.parse(until);
}
