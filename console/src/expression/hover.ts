/** Documents the part under the pointer or cursor: type, meaning, frequency in traffic. */

import { syntaxTree } from "@codemirror/language";
import { StateEffect, StateField, type EditorState } from "@codemirror/state";
import { hoverTooltip, keymap, showTooltip, type EditorView, type Tooltip } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";
import type { Schemas } from "../api/client";
import { marked } from "../parts/foreign";
import { text } from "../text/en";
import type { Asker } from "./complete";
import { fields, language } from "./known";
import { unitOf } from "./places";

const words = text.editing;
const MOST_SIGNATURES = 4;
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

/** Parts of a text with their types; the text may be older than the editor's. */
export interface Typed {
  expression: string;
  nodes: readonly Schemas["TypedPart"][];
}

interface Meaning {
  from: number;
  to: number;
  lines: readonly string[];
}

const show = StateEffect.define<Tooltip | null>();
const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) if (effect.is(show)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

/** Shows the meaning of the part under the pointer or, with Ctrl I, at the cursor. */
export function meanings(asker: () => Asker, typed: () => Typed) {
  async function tooltipAt(state: EditorState, position: number): Promise<Tooltip | null> {
    const found = await meaningAt(state, position, asker().tenant_id, typed());
    return found && { pos: found.from, end: found.to, above: true, create: () => drawn(found) };
  }
  const atCursor = (view: EditorView): boolean => {
    const { state } = view;
    void tooltipAt(state, state.selection.main.head).then((tooltip) => {
      // Drop the answer if the text has changed in the meantime.
      if (view.state.doc === state.doc) view.dispatch({ effects: show.of(tooltip) });
    });
    return true;
  };
  const close = (view: EditorView): boolean => {
    if (!view.state.field(shown)) return false;
    view.dispatch({ effects: show.of(null) });
    return true;
  };
  return [
    hoverTooltip((view, position) => tooltipAt(view.state, position)),
    shown,
    keymap.of([
      { key: "Mod-i", run: atCursor },
      { key: "Escape", run: close },
    ]),
  ];
}

async function meaningAt(
  state: EditorState,
  position: number,
  tenant_id: string,
  typed: Typed,
): Promise<Meaning | null> {
  const whole = state.doc.toString();
  const node = syntaxTree(state).resolveInner(position, -1);
  try {
    const called = await functionAt(node, whole, tenant_id);
    if (called) return called;
    return await partAt(whole, position, tenant_id, typed);
  } catch {
    // A failed lookup isn't an error in the text.
    return null;
  }
}

/** The function or macro that a node names. */
async function functionAt(
  node: SyntaxNode,
  whole: string,
  tenant_id: string,
): Promise<Meaning | null> {
  const call = node.parent;
  const isName = node.name === "VariableName" || node.name === "PropertyName";
  if (!isName || (call?.name !== "Call" && call?.name !== "MethodCall")) return null;
  const name = whole.slice(node.from, node.to);
  // A function such as `math.ceil` has a namespace.
  const qualified = whole.slice(call.from, node.to);
  const { functions, macros } = await language(tenant_id);
  const place = { from: node.from, to: node.to };
  const macro = macros.find((each) => each.name === name);
  if (macro) return { ...place, lines: [macro.usage] };
  const found = functions.filter((each) => each.name === qualified || each.name === name);
  if (found.length === 0) return null;
  const signatures = found.flatMap((each) => each.overloads.map((one) => one.signature));
  const descriptions = found.map((each) => each.description);
  return { ...place, lines: [...signatures.slice(0, MOST_SIGNATURES), ...descriptions] };
}

/** The smallest part of a text around a position, with its type. */
async function partAt(
  whole: string,
  position: number,
  tenant_id: string,
  typed: Typed,
): Promise<Meaning | null> {
  if (typed.expression !== whole) return null;
  const around = typed.nodes
    .map((each) => ({
      from: unitOf(whole, each.start),
      to: unitOf(whole, each.end),
      type: each.type,
    }))
    .filter((each) => each.from <= position && position <= each.to)
    .sort((a, b) => a.to - a.from - (b.to - b.from));
  const [smallest] = around;
  if (!smallest) return null;
  const known = await fields(tenant_id);
  // Show a header's name as the header that it reads.
  const field = around.find((each) => known.has(whole.slice(each.from, each.to)));
  const part = field ?? smallest;
  const source = whole.slice(part.from, part.to);
  const meant = field && known.get(source);
  const lines = [`${source}: ${part.type}`];
  if (meant) {
    lines.push(meant.description);
    if (meant.example) lines.push(`${words.example} ${meant.example}`);
    if (meant.fill_rate != null) lines.push(`${words.filled} ${PERCENT.format(meant.fill_rate)}`);
  }
  return { from: part.from, to: part.to, lines: lines.filter(Boolean) };
}

function drawn(meaning: Meaning): { dom: HTMLElement } {
  const dom = document.createElement("div");
  dom.className = "meaning";
  dom.setAttribute("role", "status");
  for (const line of meaning.lines) {
    const paragraph = document.createElement("p");
    paragraph.textContent = marked(line);
    dom.append(paragraph);
  }
  return { dom };
}
