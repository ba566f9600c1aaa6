/** The editor's theme. Colours are the page's custom properties, which a shadow root inherits. */

import { EditorView } from "@codemirror/view";

const wavy = (colour: string) => ({
  // The library's own mark is a `data:` image, which the content security policy forbids.
  backgroundImage: "none",
  textDecoration: `underline wavy ${colour}`,
});

export const theme = EditorView.theme({
  "&": {
    border: "1px solid var(--field)",
    borderRadius: "var(--radius)",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "2px" },
  ".cm-content": { fontFamily: "var(--mono)", fontSize: "0.86rem", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-lintRange-error": wavy("var(--block)"),
  ".cm-lintRange-warning": wavy("var(--challenge)"),
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    maxWidth: "min(36rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-completionMatchedText": { fontWeight: "600" },
  ".meaning": { padding: "0.4rem 0.6rem", overflowWrap: "anywhere" },
  ".meaning p": { margin: "0 0 0.2rem" },
  ".meaning p:first-child": { fontFamily: "var(--mono)", fontSize: "0.86rem" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--line)" },
  ".tok-string": { color: "var(--good)" },
  ".tok-number": { color: "var(--challenge)" },
  ".tok-comment": { color: "var(--muted)", fontStyle: "italic" },
  ".tok-keyword": { color: "var(--monitor)", fontWeight: "600" },
  ".tok-function": { color: "var(--accent)" },
});
