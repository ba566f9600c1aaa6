/** How much a count changed, for an order: few events that are twice as many are no news. */

/** The change in standard deviations of what chance alone makes of such a count. */
export function turnOf(now: number, before: number): number {
  return Math.abs(now - before) / Math.sqrt(now + before + 1);
}
