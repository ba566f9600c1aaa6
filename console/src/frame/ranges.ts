/** Time ranges: to now, or from one time to another. */

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
const MOST_STEPS = 120;

/** A time range: to now, or to a time of its own. */
export interface Period {
  since: string;
  /** Null of a range that ends now. */
  until: string | null;
  /** How long it is, in seconds. */
  seconds: number;
  /** Seconds of a step of a timeline. */
  step: number;
}

/** The time range that a fragment names: one of `RANGES` to now, or from one time to another.
 *
 * @param given the fragment's members: `range`, or `from` and `to` in RFC 3339.
 * @param now milliseconds since 1970.
 * @returns since and until to a whole step, so that the same question has the same key.
 */
export function periodOf(given: URLSearchParams, now: number): Period {
  const from = Date.parse(given.get("from") ?? "");
  const to = Date.parse(given.get("to") ?? "");
  if (from < to) {
    const least = (to - from) / 1_000 / MOST_STEPS;
    const step = Object.values(RANGES).find((each) => each.step >= least)?.step ?? 86_400;
    return { since: iso(from), until: iso(to), seconds: (to - from) / 1_000, step };
  }
  const named = given.get("range");
  const { seconds, step } =
    RANGES[named !== null && named in RANGES ? (named as RangeName) : DEFAULT_RANGE];
  const end = Math.ceil(now / 1_000 / step) * step;
  return { since: iso((end - seconds) * 1_000), until: null, seconds, step };
}

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
