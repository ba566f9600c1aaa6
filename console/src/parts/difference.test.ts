import { expect, test } from "vitest";
import { differences } from "./difference";

test("members that differ are named by their paths, the others are left out", () => {
  const before = { name: "a", settings: { redact: ["x"], days: 3 } };
  const after = { name: "a", settings: { redact: ["x", "y"], days: 3 } };
  expect(differences(before, after)).toEqual([
    { path: "settings.redact", before: ["x"], after: ["x", "y"] },
  ]);
});

test("a new object differs as a whole", () => {
  expect(differences(undefined, { name: "a" })).toEqual([
    { path: "", before: undefined, after: { name: "a" } },
  ]);
});
