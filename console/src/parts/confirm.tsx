/** A button for an action that can't be undone: it asks for confirmation in place. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { text } from "../text/en";

/** A single function: a new one per render would take the focus back when the question changes. */
function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}

export function Confirm(props: {
  /** The text of the first button. */
  label: string;
  question: ComponentChildren;
  /** Why it isn't allowed now; null if it is. */
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
