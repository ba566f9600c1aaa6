/** Ranks changes of counts, so that a few events that double don't rank high. */

/** The change in standard deviations of a count that varies only by chance. */
export function turnOf(now: number, before: number): number {
  return Math.abs(now - before) / Math.sqrt(now + before + 1);
}
