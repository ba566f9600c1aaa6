import { expect, test } from "vitest";
import { periodOf } from "./ranges";

const NOW = Date.parse("2026-03-01T12:34:56Z");

test("a named range begins at a whole step and ends now", () => {
  expect(periodOf(new URLSearchParams("range=1h"), NOW)).toEqual({
    since: "2026-03-01T11:35:00.000Z",
    until: null,
    seconds: 3_600,
    step: 60,
  });
});

test("a range of its own has an end, and not many steps", () => {
  const given = new URLSearchParams("range=1h&from=2026-02-01T00:00Z&to=2026-02-08T00:00Z");
  expect(periodOf(given, NOW)).toEqual({
    since: "2026-02-01T00:00:00.000Z",
    until: "2026-02-08T00:00:00.000Z",
    seconds: 604_800,
    step: 21_600,
  });
});

test("a range that ends before it begins is the usual one", () => {
  const given = new URLSearchParams("from=2026-02-08T00:00Z&to=2026-02-01T00:00Z");
  expect(periodOf(given, NOW).until).toBeNull();
});
