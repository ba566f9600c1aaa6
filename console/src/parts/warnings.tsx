/** Warnings about likely mistakes in a saved definition. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";
import { marked } from "./foreign";

export function Warnings({ of }: { of: readonly Schemas["DefinitionWarning"][] }) {
  if (of.length === 0) return null;
  return (
    <section class="problem warning" aria-label={text.editing.warnings}>
      <p>
        <strong>{text.editing.warnings}</strong>
      </p>
      <ul>
        {of.map((each) => (
          <li>
            <code>{each.pointer}</code> {marked(each.detail)} {marked(each.hint ?? "")}{" "}
            <code>{each.code}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
