/** What changed of a text, token by token. */

import { diffArrays } from "diff";

export interface Part {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Longer searches are given up: a text of 16 KiB that has little in common with another one. */
const MOST_MILLISECONDS = 100;

/** Strings, names, numbers and signs of an expression; other texts are words and signs. */
const TOKEN = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\p{L}_][\p{L}\p{N}_]*|\p{N}+|\s+|./gsu;

/** The parts of both texts in order; all of one, then all of the other, where a search takes long. */
export function tokensThatDiffer(before: string, after: string): Part[] {
  const found = diffArrays(before.match(TOKEN) ?? [], after.match(TOKEN) ?? [], {
    timeout: MOST_MILLISECONDS,
  });
  if (!found) {
    return [
      { kind: "removed", text: before },
      { kind: "added", text: after },
    ];
  }
  return found.map(({ value, removed, added }) => ({
    kind: removed ? "removed" : added ? "added" : "same",
    text: value.join(""),
  }));
}
