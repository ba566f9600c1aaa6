import { expect, test } from "vitest";
import { headersOf, linesOf } from "./headers";

test("headers survive the way through lines", () => {
  const headers = { "retry-after": "60", "x-link": "https://shop.example/a" };
  expect(headersOf(linesOf(headers))).toEqual(headers);
});

test("a line that is not finished is no header", () => {
  expect(headersOf("retry-after\n: 60\n\n")).toEqual({});
});
