/** An expression as rows: conditions and groups, each with its range in the text. Only the text is
 * kept; editing a row edits its range. */

import type { SyntaxNode, Tree } from "@lezer/common";

export type Joined = "all" | "any";

/** How a value is shown: a string without quotes, a list of such strings, or as written. */
export type Form = "text" | "texts" | "source";

export interface Compared {
  field: string;
  /** An operator, `in` or the name of a method; prefixed with `!` if negated. */
  operator: string;
  value: string;
  form: Form;
}

interface Placed {
  /** Its range, without surrounding parentheses. */
  from: number;
  to: number;
  /** Its range, with them. */
  outer: { from: number; to: number };
  /** Whether it needs parentheses next to another operator. */
  isWeak: boolean;
}

export interface Comparison extends Placed, Compared {
  kind: "comparison";
}

/** A part that rows can't express. */
export interface Plain extends Placed {
  kind: "text";
  text: string;
}

export interface Group extends Placed {
  kind: "group";
  joined: Joined;
  items: Item[];
  /** The positions of the operators between the items. */
  signs: { from: number; to: number }[];
}

export type Item = Comparison | Plain | Group;

/** Methods that rows show, each with whether it takes a list. */
export type Methods = ReadonlyMap<string, boolean>;

const JOINED: Readonly<Record<string, Joined>> = { BinaryAnd: "all", BinaryOr: "any" };
const WEAK = new Set(["BinaryAnd", "BinaryOr", "Conditional"]);
const LEVELS = 2;
const SCALARS = new Set(["String", "Number", "Boolean", "Null", "Bytes"]);
/** A string that is shown as written, without its quotes. */
const SIMPLE = /^(?:"[^"\\\u0000-\u001f]*"|'[^'"\\\u0000-\u001f]*')$/;

/** The rows of a text; null if it is empty or doesn't parse. A single row is a group. */
export function rowsOf(tree: Tree, text: string, methods: Methods): Group | null {
  const errors: number[] = [];
  tree.iterate({
    enter: (node) => {
      if (node.type.isError) errors.push(node.from);
    },
  });
  const top = errors.length > 0 ? undefined : parts(tree.topNode)[0];
  if (top === undefined) return null;
  const item = new Reader(text, methods).item(top, 1);
  return item.kind === "group"
    ? item
    : { ...item, kind: "group", joined: "all", items: [item], signs: [] };
}

/** The text of a comparison. */
export function printed({ field, operator, value, form }: Compared): string {
  const written = form === "source" ? value : form === "text" ? quoted(value) : listed(value);
  const isNegated = operator.length > 2 && operator.startsWith("!");
  const bare = isNegated ? operator.slice(1) : operator;
  if (bare === "in") return isNegated ? `!(${field} in ${written})` : `${field} in ${written}`;
  if (!/^\w/.test(bare)) return `${field} ${bare} ${written}`;
  return `${isNegated ? "!" : ""}${field}.${bare}(${written})`;
}

/** A value converted for another operator. */
export function formFor(form: Form, operator: string, methods: Methods): Form {
  if (form === "source") return form;
  return takesList(operator, methods) ? "texts" : "text";
}

export function takesList(operator: string, methods: Methods): boolean {
  const bare = operator.replace(/^!(?=\w)/, "");
  return bare === "in" || methods.get(bare) === true;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}

function listed(value: string): string {
  const values = value.split(",").map((each) => each.trim());
  return `[${values.filter(Boolean).map(quoted).join(", ")}]`;
}

/** The children of a node, without comments. */
function parts(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (child.name !== "Comment") found.push(child);
  return found;
}

class Reader {
  constructor(
    private readonly text: string,
    private readonly methods: Methods,
  ) {}

  item(node: SyntaxNode, level: number): Item {
    const outer = { from: node.from, to: node.to };
    let inner = node;
    for (let held = within(inner); held; held = within(inner)) inner = held;
    const { from, to } = inner;
    const placed = { from, to, outer, isWeak: WEAK.has(node.name) };
    const joined = JOINED[inner.name];
    if (joined !== undefined && level <= LEVELS) {
      const { operands, signs } = chain(inner);
      const items = operands.map((each) => this.item(each, level + 1));
      return { ...placed, kind: "group", joined, items, signs };
    }
    const compared = this.compared(inner);
    if (compared) return { ...placed, kind: "comparison", ...compared };
    return { ...placed, kind: "text", text: this.textOf(inner) };
  }

  private compared(node: SyntaxNode): Compared | null {
    if (node.name === "MethodCall") return this.called(node);
    if (node.name === "Relation") return this.related(node);
    if (node.name !== "Not") return null;
    const [sign, operand, ...more] = parts(node);
    if (sign === undefined || operand === undefined || more.length > 0) return null;
    const found = this.compared(within(operand) ?? operand);
    const isPositive = found !== null && /^\w/.test(found.operator);
    return isPositive ? { ...found, operator: `!${found.operator}` } : null;
  }

  private related(node: SyntaxNode): Compared | null {
    const [left, sign, right] = parts(node);
    if (!left || !sign || !right || !isPath(left) || !isValue(right)) return null;
    return { field: this.textOf(left), operator: this.textOf(sign), ...this.valueOf(right) };
  }

  private called(node: SyntaxNode): Compared | null {
    const [target, , name, given] = parts(node);
    if (!target || !name || !given || !isPath(target)) return null;
    const operator = this.textOf(name);
    const values = argumentsOf(given);
    const [value] = values;
    if (!this.methods.has(operator) || values.length !== 1 || !value || !isValue(value))
      return null;
    return { field: this.textOf(target), operator, ...this.valueOf(value) };
  }

  private valueOf(node: SyntaxNode): { value: string; form: Form } {
    const source = this.textOf(node);
    if (SIMPLE.test(source)) return { value: source.slice(1, -1), form: "text" };
    const values = node.name === "List" ? argumentsOf(node).map((each) => this.textOf(each)) : [];
    const contents = values.map((each) => each.slice(1, -1));
    const areSimple =
      values.every((each) => SIMPLE.test(each)) &&
      contents.every((each) => each !== "" && each === each.trim() && !each.includes(","));
    if (values.length === 0 || !areSimple) return { value: source, form: "source" };
    return { value: contents.join(", "), form: "texts" };
  }

  private textOf(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}

/** The content of parentheses; null for anything else. */
function within(node: SyntaxNode): SyntaxNode | null {
  return node.name === "Paren" ? (parts(node)[1] ?? null) : null;
}

/** The operands of a chain, which the grammar nests to the left. */
function chain(node: SyntaxNode) {
  const operands: SyntaxNode[] = [];
  const signs: { from: number; to: number }[] = [];
  let at = node;
  while (at.name === node.name) {
    const [left, sign, right] = parts(at) as [SyntaxNode, SyntaxNode, SyntaxNode];
    operands.unshift(right);
    signs.unshift({ from: sign.from, to: sign.to });
    at = left;
  }
  return { operands: [at, ...operands], signs };
}

/** The text between brackets. */
function argumentsOf(node: SyntaxNode): SyntaxNode[] {
  return parts(node)
    .slice(1, -1)
    .filter((each) => each.name !== ",");
}

/** A field, a member or entry of it, or the result of one function on it. */
function isPath(node: SyntaxNode): boolean {
  const [first, ...rest] = parts(node);
  if (node.name === "Variable") return first?.name === "VariableName";
  if (rest.some((each) => each.name === "Optional") || first === undefined) return false;
  if (node.name === "Select") return isPath(first);
  if (node.name === "Index") return isPath(first) && SCALARS.has(rest[1]?.name ?? "");
  const given = rest.at(-1);
  if (given === undefined) return false;
  const values = argumentsOf(given);
  if (node.name === "MethodCall") return isPath(first) && values.length === 0;
  return node.name === "Call" && values.length === 1 && values.every(isPath);
}

function isValue(node: SyntaxNode): boolean {
  if (SCALARS.has(node.name) || isPath(node)) return true;
  if (node.name === "Negation") return parts(node).at(-1)?.name === "Number";
  return node.name === "List" && argumentsOf(node).every(isValue);
}
