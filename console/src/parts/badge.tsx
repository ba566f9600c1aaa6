/** An answer as a word, a shape and a colour, so that it doesn't depend on colour alone. */

import { text } from "../text/en";

export type Answer = keyof typeof text.actions;
/** The shape of each answer, next to its word and colour. */
export const SHAPES: Readonly<Record<Answer, string>> = {
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

/** The answer for a mode of a mitigation. */
export function answerOfMode(mode: "Block" | "Challenge" | "Monitor"): Answer {
  return mode.toLowerCase() as Answer;
}
