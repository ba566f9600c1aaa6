/** Places in a text: the service counts code points, browsers count UTF-16 units. */

/** The UTF-16 place of a code point; the end of the text for one behind it. */
export function unitOf(text: string, point: number): number {
  let unit = 0;
  for (let seen = 0; seen < point && unit < text.length; seen += 1) unit += width(text, unit);
  return unit;
}

/** The code point at a UTF-16 place. */
export function pointOf(text: string, unit: number): number {
  let point = 0;
  for (let at = 0; at < unit && at < text.length; at += width(text, at)) point += 1;
  return point;
}

function width(text: string, unit: number): number {
  return (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
}
