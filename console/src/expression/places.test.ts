import { expect, test } from "vitest";
import { pointOf, unitOf } from "./places";

test("a place behind a character beyond the basic plane counts it once", () => {
  const text = 'a == "🌊🌊" && b';
  const place = text.indexOf("b");
  expect(pointOf(text, place)).toBe(Array.from(text).indexOf("b"));
  expect(unitOf(text, pointOf(text, place))).toBe(place);
});

test("a place behind the end is the end", () => {
  expect(unitOf("ab", 9)).toBe(2);
  expect(pointOf("🌊", 9)).toBe(1);
});
