/** Completions at the cursor, from the service; values come from recent traffic. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorView } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";
import { api, body, type Schemas } from "../api/client";
import { marked } from "../parts/foreign";
import { text } from "../text/en";
import type { Question } from "./check";
import { fields, language, recentValues } from "./known";
import { pointOf, unitOf } from "./places";

const words = text.editing;
/** Text after which completions open automatically. */
const BEFORE = /[\w."'[]$/;
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

/** The context in which the editor asks. */
export interface Asker {
  tenant_id: string;
  question: Question;
  /** Whether the operator may look at traffic. */
  seesTraffic: boolean;
}

/** A source of completions. The editor drops late ones and cancels their calls. */
export function completions(asker: () => Asker) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    if (!context.explicit && !context.matchBefore(BEFORE)) return null;
    const here = syntaxTree(context.state).resolveInner(context.pos, -1);
    if (here.name === "Comment") return null;
    const { tenant_id, question, seesTraffic } = asker();
    const whole = context.state.doc.toString();
    const isWithin = here.name === "String" && here.from < context.pos && context.pos < here.to;
    const compared = isWithin ? comparedWith(here, whole) : null;
    if (compared) {
      const field = whole.slice(compared.from, compared.to);
      return seesTraffic ? valuesOf(tenant_id, field, here) : null;
    }
    const ended = new AbortController();
    context.addEventListener(
      "abort",
      () => {
        ended.abort();
      },
      { onDocChange: true },
    );
    try {
      return await asked(tenant_id, { ...question, expression: whole }, context.pos, ended.signal);
    } catch {
      // A failed completion isn't an error in the text.
      return null;
    }
  };
}

async function asked(
  tenant_id: string,
  question: Question,
  position: number,
  signal: AbortSignal,
): Promise<CompletionResult> {
  const { expression } = question;
  const found = await body(
    api.POST("/api/v1/tenants/{tenant_id}/expressions/complete", {
      params: { path: { tenant_id } },
      body: { ...question, position: pointOf(expression, position) },
      signal,
    }),
  );
  return {
    from: unitOf(expression, found.start),
    options: found.completions.map(optionOf),
    filter: false,
  };
}

function optionOf(found: Schemas["Completion"]): Completion {
  const { fill_rate } = found;
  const filled = fill_rate == null ? "" : `${words.filled} ${PERCENT.format(fill_rate)}`;
  const info = [found.detail ?? "", filled].filter(Boolean).join(" · ");
  return {
    label: marked(found.label),
    type: found.kind,
    detail: found.type ?? found.kind,
    ...(info && { info: marked(info) }),
    apply: (view, _, from, to) => {
      put(view, found.insert, from, to);
    },
  };
}

/** Replaces text, without repeating a bracket or quote that already follows. */
function put(view: EditorView, insert: string, from: number, to: number): void {
  const following = view.state.sliceDoc(to, to + insert.length);
  let shared = Math.min(following.length, insert.length);
  while (shared > 0 && !insert.endsWith(following.slice(0, shared))) shared -= 1;
  const closing = insert.endsWith("(") && shared === 0 ? ")" : "";
  view.dispatch({
    changes: { from, to: to + shared, insert: insert + closing },
    selection: { anchor: from + insert.length },
    userEvent: "input.complete",
  });
}

/** The field that a string is compared with; null for a name, such as a header's or a list's. */
function comparedWith(string: SyntaxNode, whole: string): SyntaxNode | null {
  const holder = string.parent?.name === "List" ? string.parent : string;
  const { parent } = holder;
  if (parent?.name === "Relation") {
    const { firstChild, lastChild } = parent;
    return firstChild?.from === holder.from ? lastChild : firstChild;
  }
  const call = parent?.name === "ArgList" ? parent.parent : null;
  const name = call?.name === "MethodCall" ? call.getChild("PropertyName") : null;
  if (!call || !name) return null;
  const called = whole.slice(name.from, name.to);
  if (called === "inList" || (string === holder && called.endsWith("Any"))) return null;
  return call.firstChild;
}

async function valuesOf(
  tenant_id: string,
  field: string,
  string: SyntaxNode,
): Promise<CompletionResult | null> {
  const [known, { fields: everywhere }] = await Promise.all([
    fields(tenant_id),
    language(tenant_id),
  ]);
  if (!known.has(field) && !everywhere.some((each) => each.name === field)) return null;
  const values = await recentValues(tenant_id, field);
  return {
    from: string.from,
    to: string.to,
    validFor: /^["'][^"'\\]*$/,
    options: values.flatMap(({ literal, count }) =>
      literal?.startsWith('"') ? [{ label: literal, detail: words.seen(count) }] : [],
    ),
  };
}
