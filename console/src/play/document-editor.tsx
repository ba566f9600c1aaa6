/** The console's editor, for a text without a language. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { overSelection } from "../expression/editor";
import { unitOf } from "../expression/places";
import { theme } from "../expression/theme";
import type { Finding } from "./call";

export function DocumentEditor(props: {
  label: string;
  /** The first text; later ones are typed. */
  value: string;
  findings: readonly Finding[];
  onChange: (value: string) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(props.onChange);
  changed.current = props.onChange;
  useEffect(() => {
    if (!place.current) return;
    // A shadow root, as for expressions: style elements are forbidden in the document.
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: props.value,
        extensions: [
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
          overSelection,
          EditorView.contentAttributes.of({
            "aria-label": props.label,
            spellcheck: "false",
            // The text scrolls sideways; axe-core knows no focus by `contenteditable` alone.
            tabindex: "0",
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
          theme,
          EditorView.theme({ "&": { height: "100%" }, ".cm-scroller": { overflow: "auto" } }),
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const { current } = view;
    if (!current) return;
    const text = current.state.doc.toString();
    const shown = props.findings.map(({ offset, severity, message, hint }) => {
      const from = Math.min(text.length, unitOf(text, offset ?? 0));
      const to = Math.min(text.length, from + 1);
      return { from, to, severity, message: hint ? `${message}\n${hint}` : message };
    });
    current.dispatch(setDiagnostics(current.state, shown));
  }, [props.findings]);
  return <div class="editor" ref={place} />;
}
