/** Edits of rows. Each edits one range of the text and leaves the rest as written. */

import type { Group, Item, Joined } from "./rows";

const SIGNS: Readonly<Record<Joined, string>> = { all: "&&", any: "||" };

interface Change {
  from: number;
  to: number;
  insert: string;
}

/** Replaces the text of a row.
 *
 * @param isWeak whether it needs parentheses next to another operator.
 */
export function replaced(text: string, group: Group, item: Item, by: string, isWeak: boolean) {
  const hasParentheses = item.outer.from < item.from;
  const isAlone = group.items.length === 1;
  const written = item.kind === "text" ? ended(by) : by;
  const insert = isWeak && !hasParentheses && !isAlone ? `(${written})` : written;
  return changed(text, [{ from: item.from, to: item.to, insert }]);
}

/** Adds a condition at the end of a group. */
export function added(text: string, group: Group | null, condition: string): string {
  const last = group?.items.at(-1);
  if (!group || !last) return text.trim() === "" ? condition : text;
  const { to } = last.outer;
  const changes = [{ from: to, to, insert: ` ${SIGNS[group.joined]} ${condition}` }];
  const isLoose = last.isWeak && group.items.length === 1;
  return changed(text, isLoose ? [...wrapped(last), ...changes] : changes);
}

/** Combines a condition with an alternative: in a group that joins all, any of the two, and the
 * other way round. */
export function divided(text: string, group: Group, item: Item, condition: string): string {
  const sign = SIGNS[group.joined === "all" ? "any" : "all"];
  const { from, to } = item.outer;
  return changed(text, [
    { from, to: from, insert: item.isWeak ? "((" : "(" },
    { from: to, to, insert: `${item.isWeak ? ")" : ""} ${sign} ${condition})` },
  ]);
}

/** Removes an item of a group. */
export function removed(text: string, group: Group, item: Item): string {
  const at = group.items.indexOf(item);
  const [first, second] = group.items;
  if (!second) return "";
  if (item === first) {
    const end = group.signs[0]?.to ?? item.outer.to;
    const blank = /^\s*/.exec(text.slice(end))?.[0].length ?? 0;
    return changed(text, [{ from: item.outer.from, to: end + blank, insert: "" }]);
  }
  const before = group.items[at - 1]?.outer.to ?? 0;
  const sign = group.signs[at - 1]?.from ?? before;
  // A comment after the previous row belongs to that row.
  const from = text.slice(before, sign).trim() === "" ? before : sign;
  return changed(text, [{ from, to: item.outer.to, insert: "" }]);
}

/** Switches a group between all and any. */
export function rejoined(text: string, group: Group, joined: Joined, isNested: boolean): string {
  const signs = group.signs.map((place) => ({ ...place, insert: SIGNS[joined] }));
  const weak = group.items.filter((item) => item.isWeak).flatMap(wrapped);
  const whole = isNested && group.isWeak ? wrapped(group) : [];
  return changed(text, [...signs, ...weak, ...whole]);
}

function wrapped({ outer: { from, to } }: Item): Change[] {
  return [
    { from, to: from, insert: "(" },
    { from: to, to, insert: ")" },
  ];
}

/** A text that more can follow, even if its last line is a comment. */
function ended(text: string): string {
  return /\/\/[^\n]*$/.test(text) ? `${text}\n` : text;
}

/** Applies changes that don't overlap. Two changes at one position keep their order. */
function changed(text: string, changes: readonly Change[]): string {
  let result = text;
  const fromTheEnd = [...changes].reverse().sort((one, other) => other.from - one.from);
  for (const { from, to, insert } of fromTheEnd)
    result = result.slice(0, from) + insert + result.slice(to);
  return result;
}
