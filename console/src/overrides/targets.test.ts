import { expect, test } from "vitest";
import { entityTarget, nameFor } from "./targets";

test("a name says what is done to whom, without unseen characters, and isn't too long", () => {
  const entity = { definition: "account", entity_id: "1", key: ["ann\u202e\n", 7] };
  expect(nameFor("allow", entityTarget(entity))).toBe("Let through account: ann??, 7");
  const long = nameFor("ban", { label: "😀".repeat(300) });
  expect(Array.from(long)).toHaveLength(200);
});
