import { expect, test } from "vitest";
import { nameOf, readsOf } from "./reads";

function names(...fields: string[]): (string | null)[] {
  return fields.map(nameOf).sort();
}

test("a field is read however it is written", () => {
  const written = ['fields.account == "a"', 'fields["account"] == "a"', "has(fields.account)"];
  for (const text of written)
    expect([...readsOf(text)].filter((name) => name.includes("account"))).toEqual(
      names('fields["account"]'),
    );
});

test("what lies in a map reads the map, and a name in a string reads nothing", () => {
  const text = 'request.headers["x-app"].contains("request.path") && actions.login';
  expect([...readsOf(text)].sort()).toEqual(
    names("request", "request.headers", 'request.headers["x-app"]', "actions", "actions.login"),
  );
});

test("a text that is no field has no name", () => {
  expect(nameOf("1 + 1")).toBeNull();
  expect(nameOf("size(request.path)")).toBeNull();
  expect(nameOf("fields[request.path]")).toBeNull();
});
