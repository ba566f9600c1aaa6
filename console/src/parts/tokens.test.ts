import { expect, test } from "vitest";
import { tokensThatDiffer } from "./tokens";

test("a changed value of an expression is one token, and what is around it stays", () => {
  const before = 'request.path == "/login" && ip.in("10.0.0.0/8")';
  const after = 'request.path == "/log in" && ip.in("10.0.0.0/8")';
  expect(tokensThatDiffer(before, after)).toEqual([
    { kind: "same", text: "request.path == " },
    { kind: "removed", text: '"/login"' },
    { kind: "added", text: '"/log in"' },
    { kind: "same", text: ' && ip.in("10.0.0.0/8")' },
  ]);
});

test("both texts can be read from the parts, whatever they hold", () => {
  const texts = ["", '"open', "a\n b", "é😀'x\\'y' 1.5e3", '"a" + "b"', "a || b || c"];
  for (const before of texts) {
    for (const after of texts) {
      const parts = tokensThatDiffer(before, after);
      const without = (kind: string) =>
        parts.flatMap((each) => (each.kind === kind ? [] : [each.text])).join("");
      expect(without("added")).toBe(before);
      expect(without("removed")).toBe(after);
    }
  }
});
