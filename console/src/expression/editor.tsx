/** The editor of one expression. The service reports errors with their positions. */

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, EditorState, type Transaction } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import type { Finding } from "./check";
import { completions, type Asker } from "./complete";
import { meanings, type Typed } from "./hover";
import { expressionLanguage } from "./language";
import { unitOf } from "./places";
import { theme } from "./theme";

export { ExpressionBuilder } from "./builder";

/** Replaces a selection instead of the browser, which would keep the style of the replaced text in
 * a style attribute; the content security policy forbids that. */
export const overSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing } = event;
    const { main } = view.state.selection;
    if (inputType !== "insertText" || isComposing || data === null || main.empty) return false;
    event.preventDefault();
    const insert = (): Transaction =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, main.from, main.to, data, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
});

/** Marks a change that was not typed. */
const fromOutside = Annotation.define<boolean>();

export interface EditorProps {
  label: string;
  value: string;
  findings: readonly Finding[];
  asker: Asker;
  typed: Typed;
  isReadOnly?: boolean;
  /** Formats the text, if its format is known. */
  onFormat: () => void;
  onChange: (value: string) => void;
}

export function ExpressionEditor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  // The view outlives a render; it calls the functions from the last render.
  const latest = useRef(props);
  const typed = useRef(new Set<string>());
  latest.current = props;

  useEffect(() => {
    if (!place.current) return;
    // Inside a shadow root the editor uses constructed style sheets, which the content security
    // policy allows. In the document it would use a style element, which the policy forbids.
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: extensions(latest, typed.current),
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
    };
  }, []);

  useEffect(() => {
    const present = view.current?.state.doc.toString();
    if (present === undefined) return;
    if (present === props.value) typed.current.clear();
    // Typed text comes back late: a newer text is on its way and must not be overwritten.
    else if (!typed.current.has(props.value)) {
      view.current?.dispatch({
        changes: { from: 0, to: present.length, insert: props.value },
        annotations: fromOutside.of(true),
      });
    }
  }, [props.value]);

  useEffect(() => {
    const { current } = view;
    if (!current) return;
    const text = current.state.doc.toString();
    // Skip findings about a text that the editor no longer has.
    if (text !== props.value) return;
    const shown = props.findings.map((finding) => diagnosticOf(text, finding));
    current.dispatch(setDiagnostics(current.state, shown));
  }, [props.findings]);

  return <div class="editor" ref={place} />;
}

function extensions(latest: { current: EditorProps }, typed: Set<string>) {
  const { label, isReadOnly = false } = latest.current;
  const format = (): boolean => {
    latest.current.onFormat();
    return true;
  };
  return [
    expressionLanguage(),
    history(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ override: [completions(() => latest.current.asker)], icons: false }),
    meanings(
      () => latest.current.asker,
      () => latest.current.typed,
    ),
    keymap.of([
      { key: "Alt-f", run: format },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
    ]),
    overSelection,
    EditorView.lineWrapping,
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      if (update.transactions.some((each) => each.annotation(fromOutside))) return;
      const text = update.state.doc.toString();
      typed.add(text);
      latest.current.onChange(text);
    }),
    theme,
  ];
}

function diagnosticOf(text: string, finding: Finding): Diagnostic {
  const from = unitOf(text, finding.start);
  const to = Math.max(from, unitOf(text, finding.end));
  const hint = finding.hint ? `\n${finding.hint}` : "";
  return { from, to, severity: finding.severity, message: finding.message + hint };
}
