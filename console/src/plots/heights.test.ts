import { expect, test } from "vitest";
import { heightsOf, type Series } from "./heights";

const SERIES: readonly Series[] = [
  { name: "allow", label: "allow", shape: "●", counts: [20, 0] },
  { name: "challenge", label: "challenge", shape: "▲", counts: [4, 0] },
  { name: "block", label: "block", shape: "■", counts: [1, 3] },
];

test("a stack is drawn from its top, and its top has the total", () => {
  expect(heightsOf({ series: SERIES, scale: "count" })).toEqual([
    { name: "block", heights: [25, 3] },
    { name: "challenge", heights: [24, 0] },
    { name: "allow", heights: [20, 0] },
  ]);
});

test("shares of a step add up to the whole, and a step without counts has none", () => {
  const [block, , allow] = heightsOf({ series: SERIES, scale: "share" });
  expect(block?.heights).toEqual([1, 1]);
  expect(allow?.heights).toEqual([0.8, 0]);
});

test("a logarithmic scale stacks nothing and leaves zeros out", () => {
  const [allow, challenge] = heightsOf({ series: SERIES, scale: "log" });
  expect(allow?.heights).toEqual([20, null]);
  expect(challenge?.heights).toEqual([4, null]);
});
