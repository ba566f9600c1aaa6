/** Warnings about likely mistakes in a saved definition. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";
import { hinted } from "./foreign";

export function Warnings(props: {
  of: readonly Schemas["DefinitionWarning"][];
  /** Said above them, if nothing is saved. */
  title?: string;
}) {
  const { of, title = text.editing.warnings } = props;
  if (of.length === 0) return null;
  return (
    <section class="problem warning" aria-label={title}>
      <p>
        <strong>{title}</strong>
      </p>
      <ul>
        {of.map((each) => (
          <li>
            <code>{each.pointer}</code> {hinted(each.detail, each.hint)} <code>{each.code}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
