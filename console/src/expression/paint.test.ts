import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { painted, type Part } from "./paint";

type Step = Schemas["StepExplanation"];

/** A step for the first occurrence of a part in a text. */
function step(
  text: string,
  part: string,
  depth: number,
  value: string | null,
  type = "bool",
): Step {
  const start = Array.from(text.slice(0, text.indexOf(part))).length;
  const end = start + Array.from(part).length;
  const reached = value !== null;
  return {
    text: part,
    depth,
    value,
    error: null,
    start,
    end,
    type: reached ? type : null,
    reached,
  };
}

function flat(content: readonly (string | Part)[]): string {
  return content
    .map((each) =>
      typeof each === "string"
        ? each
        : `<${each.state}${each.isShown ? ` ${each.said}` : ""}:${flat(each.content)}>`,
    )
    .join("");
}

test("parts are nested, and only compared values stand in the text", () => {
  const text = `a == "😀" && ("b" == c)`;
  const steps = [
    step(text, text, 0, "false"),
    step(text, `a == "😀"`, 1, "false"),
    step(text, "a", 2, '"x"', "string"),
    step(text, '"😀"', 2, '"😀"', "string"),
    step(text, `("b" == c)`, 1, null),
  ];
  expect(flat(painted(text, steps))).toBe(
    `<missed:<missed:<plain "x":a> == <plain:"😀">> && <unreached:("b" == c)>>`,
  );
});

test("the body of a macro has the values of all its turns", () => {
  const text = "l.exists(k, k)";
  const steps = [
    step(text, text, 0, "true"),
    step(text, "k)", 1, "false"),
    step(text, "k)", 1, "true"),
  ].map((each) => (each.text === "k)" ? { ...each, start: 12, end: 13 } : each));
  expect(flat(painted(text, steps))).toBe("<held:l.exists(k, <mixed:k>)>");
});

test("a part that lies across another is left out", () => {
  const crossing = [step("abcd", "abc", 0, "true"), step("abcd", "cd", 1, "true")];
  expect(flat(painted("abcd", crossing))).toBe("<held:abc>d");
});
