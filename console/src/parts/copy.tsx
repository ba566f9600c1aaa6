/** A button that copies a text. */

import { useState } from "preact/hooks";
import { text } from "../text/en";

export function Copy(props: {
  value: string;
  what: string;
  /** Whether to name the copied text; for buttons that aren't next to it. */
  isNamed?: boolean;
}) {
  const { value, what } = props;
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(value);
    setCopied(true);
  }
  return (
    <button
      type="button"
      onClick={copy}
      onBlur={() => {
        setCopied(false);
      }}
    >
      {copied ? text.frame.copied : text.frame.copy}{" "}
      <span class={props.isNamed ? "" : "hidden"}>{what}</span>
    </button>
  );
}
