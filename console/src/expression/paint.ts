/** An explained expression as nested parts of its text, each with its result. */

import type { Schemas } from "../api/client";

type Step = Schemas["StepExplanation"];
/** How a part ended. `mixed` parts gave several values, as the body of a macro does; `plain` parts
 * gave a value that is neither true nor false. */
export type State = "held" | "missed" | "mixed" | "plain" | "failed" | "unreached";

export interface Part {
  state: State;
  /** Its value or error; empty if it was not reached. */
  said: string;
  /** Whether to show the value in the text: for compared fields and calls, not constants. */
  isShown: boolean;
  content: (string | Part)[];
}

const CONSTANT = /^(?:[rRbB]{0,2}["']|[-.]?\d|[-[{]|(?:true|false|null)$)/;
const MOST = 3;

interface Spanned {
  start: number;
  end: number;
  steps: Step[];
}

/** The text of an expression, split into parts; anything without a step stays text. */
export function painted(text: string, steps: readonly Step[]): (string | Part)[] {
  // Steps count code points.
  const points = Array.from(text);
  const spans = spansOf(steps);
  let next = 0;

  /** The content of a range: its parts, and the text between them. */
  function within(start: number, end: number, isCondition: boolean): (string | Part)[] {
    const content: (string | Part)[] = [];
    let at = start;
    for (let span = spans[next]; span && span.start < end; span = spans[next]) {
      next += 1;
      // Overlapping parts can't be nested.
      if (span.start < at || span.end > end) continue;
      if (at < span.start) content.push(points.slice(at, span.start).join(""));
      content.push(part(span, isCondition));
      at = span.end;
    }
    if (at < end) content.push(points.slice(at, end).join(""));
    return content;
  }

  function part({ start, end, steps: given }: Spanned, isCondition: boolean): Part {
    const state = stateOf(given);
    const isTruth = state !== "plain";
    const content = within(start, end, isTruth);
    const source = points.slice(start, end).join("");
    const isShown = !isTruth && isCondition && !isConstant(source, content);
    return { state, said: saidOf(given), isShown: isShown || state === "failed", content };
  }

  return within(0, points.length, true);
}

/** The spans of steps, outer spans first. For equal spans the outermost step counts. */
function spansOf(steps: readonly Step[]): Spanned[] {
  const found = new Map<string, Spanned>();
  for (const step of steps) {
    const { start, end, depth } = step;
    const key = `${start} ${end}`;
    const known = found.get(key);
    if (known?.steps[0]?.depth === depth) known.steps.push(step);
    else if (known === undefined) found.set(key, { start, end, steps: [step] });
  }
  return [...found.values()].sort((one, other) => one.start - other.start || other.end - one.end);
}

function stateOf(steps: readonly Step[]): State {
  if (steps.some((step) => step.error !== null)) return "failed";
  if (steps.some((step) => !step.reached)) return "unreached";
  if (steps.some((step) => step.type !== "bool")) return "plain";
  if (steps.every((step) => step.value === "true")) return "held";
  return steps.every((step) => step.value === "false") ? "missed" : "mixed";
}

function saidOf(steps: readonly Step[]): string {
  const said = [...new Set(steps.map((step) => step.value ?? step.error ?? ""))];
  return said.slice(0, MOST).join(", ") + (said.length > MOST ? ", …" : "");
}

function isConstant(source: string, content: readonly (string | Part)[]): boolean {
  const parts = content.filter((each) => typeof each !== "string");
  return CONSTANT.test(source) && parts.every((each) => isConstant(sourceOf(each), each.content));
}

function sourceOf(part: Part): string {
  return part.content.map((each) => (typeof each === "string" ? each : sourceOf(each))).join("");
}
