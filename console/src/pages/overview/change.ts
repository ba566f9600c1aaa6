/** The change of a count since the period before, in words. */

import { text } from "../../text/en";

const PERCENT = new Intl.NumberFormat(undefined, {
  style: "percent",
  maximumFractionDigits: 0,
  signDisplay: "exceptZero",
});
const COUNT = new Intl.NumberFormat(undefined, { signDisplay: "exceptZero" });
/** Of smaller counts, a share says too much. */
const FEW = 10;

export function changeOf(now: number, before: number): string {
  if (now === before) return text.overview.same;
  if (before < FEW) return COUNT.format(now - before);
  return PERCENT.format(now / before - 1);
}
