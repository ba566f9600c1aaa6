/** Pasted entries of a list, and the changes they make. */

import type { Schemas } from "../../api/client";

export interface EntriesChange {
  add: string[];
  remove: string[];
}

/** The entries of a text, one per line; blank lines and lines that begin with `#` are skipped. */
export function entriesOf(pasted: string): string[] {
  const lines = pasted.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== "" && !line.startsWith("#")))];
}

/** The changes from one list of entries to another. */
export function changeTo(present: readonly string[], wanted: readonly string[]): EntriesChange {
  const has = new Set(present);
  const wants = new Set(wanted);
  return {
    add: wanted.filter((each) => !has.has(each)),
    remove: present.filter((each) => !wants.has(each)),
  };
}

/** The text of an expression that reads a list. */
export function readerOf(list: Pick<Schemas["ListSummary"], "kind" | "slug">): string {
  const value = list.kind === "ip" ? "request.client_ip" : "request.path";
  return `${value}.inList("${list.slug}")`;
}
