/** What was answered: a word, a shape and a colour, so that none of them stands alone. */

import { text } from "../text/en";

export type Answer = keyof typeof text.actions;
const SHAPES: Readonly<Record<Answer, string>> = {
  allow: "●",
  challenge: "▲",
  block: "■",
  monitor: "◇",
};

export function Badge({ answer }: { answer: Answer }) {
  return (
    <span class={`badge ${answer}`}>
      <span aria-hidden="true">{SHAPES[answer]}</span>
      {text.actions[answer]}
    </span>
  );
}

/** The answer that a mode of a mitigation gives. */
export function answerOfMode(mode: "Block" | "Challenge" | "Monitor"): Answer {
  return mode.toLowerCase() as Answer;
}
