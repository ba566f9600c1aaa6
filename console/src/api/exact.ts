/** JSON whose numbers stay as they were written, for showing what was recorded. */

type Exact = typeof JSON & { rawJSON?: (text: string) => unknown };
type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

/** The value of a text. A number that JavaScript would write otherwise, or has no value for, is kept
 * for `JSON.stringify` as it is written, where the browser can. */
export function readExact(text: string): unknown {
  const reviver: Reviver = (_, value, context) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return (JSON as Exact).rawJSON?.(source) ?? value;
  };
  return JSON.parse(text, reviver);
}
