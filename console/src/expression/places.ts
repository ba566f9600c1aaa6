/** Positions in a text: the service counts code points, browsers count UTF-16 units. */

/** The UTF-16 offset of a code point; past the end, the end of the text. */
export function unitOf(text: string, point: number): number {
  let unit = 0;
  for (let seen = 0; seen < point && unit < text.length; seen += 1) unit += width(text, unit);
  return unit;
}

/** The code point offset of a UTF-16 offset. */
export function pointOf(text: string, unit: number): number {
  let point = 0;
  for (let at = 0; at < unit && at < text.length; at += width(text, at)) point += 1;
  return point;
}

function width(text: string, unit: number): number {
  return (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
}
