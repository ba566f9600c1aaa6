/** Units of durations, and the one in which a duration is shortest to read. */

export const UNITS = [
  ["seconds", 1],
  ["minutes", 60],
  ["hours", 3_600],
  ["days", 86_400],
] as const;

/** The seconds of the largest unit in which a duration is a whole number. */
export function unitOf(seconds: number): number {
  if (!Number.isFinite(seconds) || seconds <= 0) return 1;
  const whole = UNITS.filter(([, each]) => seconds % each === 0).map(([, each]) => each);
  return Math.max(1, ...whole);
}
