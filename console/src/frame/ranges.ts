/** Time ranges that end now, or between two times. */

export const RANGES = {
  "15m": { label: "Last 15 min", seconds: 900, step: 60 },
  "1h": { label: "Last hour", seconds: 3_600, step: 60 },
  "6h": { label: "Last 6 h", seconds: 21_600, step: 300 },
  "24h": { label: "Last 24 h", seconds: 86_400, step: 900 },
  "7d": { label: "Last 7 days", seconds: 604_800, step: 3_600 },
  "30d": { label: "Last 30 days", seconds: 2_592_000, step: 21_600 },
} as const;
export type RangeName = keyof typeof RANGES;
export const DEFAULT_RANGE: RangeName = "6h";
const MOST_STEPS = 120;

/** A time range that ends now or at a fixed time. */
export interface Period {
  since: string;
  /** Null if the range ends now. */
  until: string | null;
  /** Its length in seconds. */
  seconds: number;
  /** Seconds per step of a timeline. */
  step: number;
}

/** The time range in a fragment: one of `RANGES` that ends now, or one between two times.
 *
 * @param given the fragment's parameters: `range`, or `from` and `to` in RFC 3339.
 * @param now milliseconds since 1970.
 * @returns since and until, rounded to a whole step so that equal queries have equal keys.
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
