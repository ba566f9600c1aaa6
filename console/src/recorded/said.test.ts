import { expect, test } from "vitest";
import { said } from "./said";

const NONE = { before: null, after: null };

test("a definition is named with what was done to it", () => {
  const after = { name: "Login stuffing" };
  expect(said({ ...NONE, action: "create", kind: "policy", after })).toBe(
    'created policy "Login stuffing"',
  );
  expect(said({ ...NONE, action: "delete", kind: "list", before: after })).toBe(
    'deleted list "Login stuffing"',
  );
});

test("a lift names the entity and the reason, or how many were lifted", () => {
  const one = { mode: "Block", key: ["10.231.7.1/32"] };
  const after = { reason: "customer called" };
  expect(said({ action: "lift", kind: "active-mitigation", before: [one], after })).toBe(
    "lifted the block of 10.231.7.1/32: customer called",
  );
  expect(said({ action: "lift", kind: "active-mitigation", before: [one, one], after: null })).toBe(
    "lifted 2 active mitigations",
  );
});

test("an unknown action or kind is said as the service names it", () => {
  expect(said({ ...NONE, action: "compact", kind: "log" })).toBe("compact log");
});
