/** Finds the fields that an expression reads, in any spelling. */

import type { SyntaxNode } from "@lezer/common";
import { parser } from "../../expression/cel.grammar";

/** The fields that a text reads, each with the maps that contain it.
 *
 * @returns for `fields["a"] == 1` the names of `fields` and `fields.a`, as `nameOf` gives them.
 */
export function readsOf(text: string): Set<string> {
  const found = new Set<string>();
  parser.parse(text).iterate({
    enter: ({ node }) => {
      const path = pathOf(node, text);
      if (path) found.add(named(path));
    },
  });
  return found;
}

/** The name that `readsOf` gives to a text that is one field; null if it isn't a field. */
export function nameOf(text: string): string | null {
  const top = parser.parse(text).topNode.firstChild;
  const path = top && pathOf(top, text);
  return path && named(path);
}

function named(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** The path of names to a value; null if it isn't a field. */
function pathOf(node: SyntaxNode, text: string): string[] | null {
  const written = (part: SyntaxNode): string => text.slice(part.from, part.to);
  const { firstChild, lastChild } = node;
  if (node.name === "Variable") return [written(node).replace(/^\./, "")];
  if (!firstChild || !lastChild) return null;
  if (node.name === "Select") {
    const before = pathOf(firstChild, text);
    return before && [...before, written(lastChild).replaceAll("`", "")];
  }
  if (node.name !== "Index") return null;
  const before = pathOf(firstChild, text);
  const key = node.getChild("String");
  return before && key && [...before, textOf(written(key))];
}

/** The value of a string literal; as written if JSON can't parse it. */
function textOf(literal: string): string {
  const inner = literal.slice(1, -1);
  try {
    return JSON.parse(`"${inner}"`) as string;
  } catch {
    return inner;
  }
}
