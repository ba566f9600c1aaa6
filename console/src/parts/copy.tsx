/** A button that copies a text. */

import { useState } from "preact/hooks";
import { text } from "../text/en";

export function Copy({ value, what }: { value: string; what: string }) {
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
      {copied ? text.frame.copied : text.frame.copy} <span class="hidden">{what}</span>
    </button>
  );
}
