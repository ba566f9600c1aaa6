import { expect, test } from "vitest";
import { fitsLines, linesOf, namedOf } from "./lines";

test("headers survive the way through lines", () => {
  const headers = { "retry-after": "60", "x-link": "https://shop.example/a" };
  expect(namedOf(linesOf(headers))).toEqual(headers);
});

test("a line that is not finished is no header", () => {
  expect(namedOf("retry-after\n: 60\n\n")).toEqual({});
});

test("a text of several lines doesn't fit lines", () => {
  expect(fitsLines({ link: 'a ? "b: c" : ""' })).toBe(true);
  expect(fitsLines({ link: "a ||\n  b" })).toBe(false);
});
