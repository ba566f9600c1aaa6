/** The expression language for the editor: colours, brackets, folds. Types and findings come from
 * the service. */

import {
  HighlightStyle,
  LanguageSupport,
  LRLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { styleTags, tags } from "@lezer/highlight";
import { parser } from "./cel.grammar";

const coloured = parser.configure({
  props: [
    styleTags({
      "String Bytes": tags.string,
      Number: tags.number,
      "Boolean Null": tags.bool,
      Comment: tags.lineComment,
      Keyword: tags.operatorKeyword,
      "CompareOp LogicOp ArithOp": tags.operator,
      "Call/VariableName MethodCall/PropertyName": tags.function(tags.variableName),
      VariableName: tags.variableName,
      "PropertyName EscapedName": tags.propertyName,
      "( ) [ ] { }": tags.paren,
    }),
  ],
});

const style = HighlightStyle.define([
  { tag: tags.string, class: "tok-string" },
  { tag: [tags.number, tags.bool], class: "tok-number" },
  { tag: tags.lineComment, class: "tok-comment" },
  { tag: tags.operatorKeyword, class: "tok-keyword" },
  { tag: tags.function(tags.variableName), class: "tok-function" },
]);

export const cel = LRLanguage.define({
  name: "cel",
  parser: coloured,
  languageData: {
    commentTokens: { line: "//" },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
  },
});

export function expressionLanguage(): LanguageSupport {
  return new LanguageSupport(cel, syntaxHighlighting(style));
}
