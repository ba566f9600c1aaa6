/** The difference of two texts, token by token. */

import { diffArrays } from "diff";

export interface Part {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Gives up longer searches: texts of 16 KiB may have little in common. */
const MOST_MILLISECONDS = 100;

/** Tokens: strings, names, numbers and symbols of expressions; words and symbols of other texts. */
const TOKEN = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\p{L}_][\p{L}\p{N}_]*|\p{N}+|\s+|./gsu;

/** The parts of both texts in order. If the search takes too long: all of one, then all of the
 * other. */
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
