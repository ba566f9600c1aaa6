import { expect, test } from "vitest";
import { changeTo, entriesOf } from "./entries";

test("entries are the lines that say something, each once", () => {
  expect(entriesOf("192.0.2.0/28\r\n\n# offices\n  192.0.2.0/28 \n")).toEqual(["192.0.2.0/28"]);
});

test("a change names what is new and what is gone", () => {
  expect(changeTo(["a", "b"], ["b", "c"])).toEqual({ add: ["c"], remove: ["a"] });
});
