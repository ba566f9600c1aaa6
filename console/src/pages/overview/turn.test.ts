import { expect, test } from "vitest";
import { turnOf } from "./turn";

test("a large change of a large count stands before the doubling of a small one", () => {
  expect(turnOf(900, 600)).toBeGreaterThan(turnOf(4, 2));
});

test("what stopped is as much of a change as what began", () => {
  expect(turnOf(0, 80)).toBe(turnOf(80, 0));
  expect(turnOf(7, 7)).toBe(0);
});
