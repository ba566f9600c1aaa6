/** Parse JSON without changing how its numbers are written, to show recorded data. */

type Exact = typeof JSON & { rawJSON?: (text: string) => unknown };
type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

/** The value of a JSON text. Numbers that JavaScript can't represent, or would write differently,
 * keep their text for `JSON.stringify`, if the browser supports that. */
export function readExact(text: string): unknown {
  const reviver: Reviver = (_, value, context) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return (JSON as Exact).rawJSON?.(source) ?? value;
  };
  return JSON.parse(text, reviver);
}
