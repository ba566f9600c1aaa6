import { expect, test } from "vitest";
import { unitOf } from "./duration";

test.each([
  [900, 60],
  [90, 1],
  [7_200, 3_600],
  [172_800, 86_400],
  [0, 1],
  [NaN, 1],
])("%d seconds are said in units of %d", (seconds, unit) => {
  expect(unitOf(seconds)).toBe(unit);
});
