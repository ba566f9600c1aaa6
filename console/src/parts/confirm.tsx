/** A button for what cannot be undone: it asks once more, at its own place. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { text } from "../text/en";

/** One function for all: a new one would take the focus back at each change of the question. */
function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}

export function Confirm(props: {
  /** What the first button says. */
  label: string;
  question: ComponentChildren;
  /** Why it may not be done now; null when it may. */
  refusal: string | null;
  onConfirm: () => void;
}) {
  const [isAsked, setIsAsked] = useState(false);
  if (!isAsked) {
    return (
      <button
        type="button"
        disabled={props.refusal !== null}
        {...(props.refusal === null ? {} : { title: props.refusal })}
        onClick={() => {
          setIsAsked(true);
        }}
      >
        {props.label}
      </button>
    );
  }
  const close = (): void => {
    setIsAsked(false);
  };
  return (
    <span class="row" role="group" aria-label={props.label}>
      {props.question}
      <button
        type="button"
        class="danger"
        ref={focus}
        onClick={() => {
          close();
          props.onConfirm();
        }}
      >
        {props.label}
      </button>
      <button type="button" onClick={close}>
        {text.frame.keep}
      </button>
    </span>
  );
}
