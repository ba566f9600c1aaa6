import { expect, test } from "vitest";
import { changeOf } from "./change";

test("a change is a share of the period before", () => {
  expect(changeOf(150, 100)).toBe("+50%");
  expect(changeOf(50, 100)).toBe("-50%");
});

test("a change from few is a count, since a share of nothing isn't a number", () => {
  expect(changeOf(3, 0)).toBe("+3");
  expect(changeOf(2, 9)).toBe("-7");
});

test("equal counts have no change", () => {
  expect(changeOf(0, 0)).toBe("no change");
});
