/** One row of an expression: local state while typing, an edit of the text on blur. */

import { useId, useState } from "preact/hooks";
import { marked } from "../parts/foreign";
import { text } from "../text/en";
import type { CatalogField } from "./known";
import { cel } from "./language";
import { formFor, printed, rowsOf, takesList, type Compared, type Methods } from "./rows";

const words = text.rows;
const SIGNS = ["==", "!=", "<", "<=", ">", ">=", "in", "!in"] as const;
const EMPTY: Compared = { field: "", operator: "==", value: "", form: "text" };
/** A value that isn't just the content of a string. */
const SOURCE = /^(?:-?\d|["'[]|(?:true|false|null)$)/;

/** The language and the fields in traffic, as rows need them. */
export interface Known {
  methods: Methods;
  fields: ReadonlyMap<string, CatalogField>;
}

interface Changed {
  isReadOnly: boolean;
  /** @param isWeak whether the text needs parentheses next to another operator. */
  onChange: (text: string, isWeak: boolean) => void;
}

export function ComparisonRow({
  compared: given,
  known,
  isReadOnly,
  onChange,
}: Changed & { compared: Compared; known: Known }) {
  const before = printed(given);
  const [draft, setDraft] = useTyped(given, before);
  const [isWrong, setWrong] = useTyped(false, before);
  const commit = (changed: Compared): void => {
    const text = printed(changed);
    const isGood = isComparison(text, known.methods);
    setWrong(!isGood);
    if (isGood && text !== before) onChange(text, false);
  };
  return (
    <>
      <Fields
        compared={draft}
        known={known}
        isReadOnly={isReadOnly}
        onInput={setDraft}
        onCommit={commit}
      />
      {isWrong && <p role="alert">{words.wrong}</p>}
    </>
  );
}

/** A new condition that isn't part of the expression yet. */
export function NewRow(props: {
  known: Known;
  onAdd: (condition: string) => void;
  onCancel: () => void;
}) {
  const { known } = props;
  const [draft, setDraft] = useState(EMPTY);
  const [isWrong, setWrong] = useState(false);
  const add = (): void => {
    const condition = printed(withForm(draft, known));
    if (isComparison(condition, known.methods)) props.onAdd(condition);
    else setWrong(true);
  };
  return (
    <div class="new-row" role="group" aria-label={words.fresh}>
      <Fields compared={draft} known={known} isReadOnly={false} onInput={setDraft} onEnter={add} />
      {isWrong && <p role="alert">{words.wrong}</p>}
      <div class="row">
        <button type="button" onClick={add}>
          {words.put}
        </button>
        <button type="button" onClick={props.onCancel}>
          {words.cancel}
        </button>
      </div>
    </div>
  );
}

/** Anything rows can't express stays text and is always accepted. */
export function TextRow({ text: given, isReadOnly, onChange }: Changed & { text: string }) {
  const [draft, setDraft] = useTyped(given, given);
  const commit = (): void => {
    if (draft !== given && draft.trim() !== "") onChange(draft, isWeak(draft));
  };
  return (
    <label class="field">
      {words.text}
      <textarea
        class="mono"
        rows={Math.min(6, draft.split("\n").length)}
        readOnly={isReadOnly}
        spellcheck={false}
        value={draft}
        onInput={(event) => {
          setDraft(event.currentTarget.value);
        }}
        onChange={commit}
      />
    </label>
  );
}

function Fields(props: {
  compared: Compared;
  known: Known;
  isReadOnly: boolean;
  onInput: (compared: Compared) => void;
  onCommit?: (compared: Compared) => void;
  onEnter?: () => void;
}) {
  const { compared, known, isReadOnly, onInput } = props;
  const id = useId();
  const change = (changes: Partial<Compared>): void => {
    onInput({ ...compared, ...changes });
  };
  const commit = (): void => props.onCommit?.(compared);
  const onKeyDown = (event: KeyboardEvent): void => {
    // Otherwise Enter would save the form.
    if (event.key !== "Enter") return;
    event.preventDefault();
    (props.onEnter ?? commit)();
  };
  const shared = { class: "mono", readOnly: isReadOnly, spellcheck: false, onKeyDown };
  return (
    <div class="comparison">
      <input
        {...shared}
        aria-label={words.field}
        placeholder={words.field}
        list={`${id}-fields`}
        value={compared.field}
        onInput={(event) => {
          change({ field: event.currentTarget.value });
        }}
        onChange={commit}
      />
      <datalist id={`${id}-fields`}>
        {[...known.fields.keys()].map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Operators
        operator={compared.operator}
        known={known}
        isReadOnly={isReadOnly}
        onChange={(operator) => {
          const form = formFor(compared.form, operator, known.methods);
          change({ operator, form });
          props.onCommit?.({ ...compared, operator, form });
        }}
      />
      <input
        {...shared}
        aria-label={takesList(compared.operator, known.methods) ? words.values : words.value}
        placeholder={takesList(compared.operator, known.methods) ? words.values : words.value}
        value={compared.value}
        onInput={(event) => {
          change({ value: event.currentTarget.value });
        }}
        onChange={commit}
      />
    </div>
  );
}

function Operators(props: {
  operator: string;
  known: Known;
  isReadOnly: boolean;
  onChange: (operator: string) => void;
}) {
  const methods = [...props.known.methods.keys()].flatMap((each) => [each, `!${each}`]);
  return (
    <select
      aria-label={words.operator}
      disabled={props.isReadOnly}
      value={props.operator}
      onChange={(event) => {
        props.onChange(event.currentTarget.value);
      }}
    >
      {[...SIGNS, ...methods].map((each) => (
        <option key={each} value={each}>
          {nameOf(each)}
        </option>
      ))}
    </select>
  );
}

function nameOf(operator: string): string {
  const named: Readonly<Record<string, string>> = words.operators;
  const isNegated = /^!\w/.test(operator);
  const bare = isNegated ? operator.slice(1) : operator;
  return named[operator] ?? (isNegated ? words.not(marked(named[bare] ?? bare)) : marked(bare));
}

/** A new row's value is a string unless its field or its form says otherwise. */
function withForm(compared: Compared, { fields, methods }: Known): Compared {
  const found = fields.get(compared.field);
  const looksLikeText = !SOURCE.test(compared.value);
  // Captured fields are read as text, whatever type was sent.
  const isText = found ? found.group === "captured" || found.type === "string" : looksLikeText;
  return { ...compared, form: isText ? formFor("text", compared.operator, methods) : "source" };
}

function isComparison(text: string, methods: Methods): boolean {
  const found = rowsOf(cel.parser.parse(text), text, methods);
  return found?.items.length === 1 && found.items[0]?.kind === "comparison";
}

function isWeak(text: string): boolean {
  return ["BinaryAnd", "BinaryOr", "Conditional"].includes(
    cel.parser.parse(text).topNode.firstChild?.name ?? "",
  );
}

/**
 * The text that was typed over `given`; it is forgotten when `key`, which names that value, changes.
 *
 * The comparison is made while rendering: an effect runs after the first paint, and by then
 * somebody may have typed already.
 */
function useTyped<T>(given: T, key: string): [T, (draft: T) => void] {
  const [typed, setTyped] = useState<{ over: string; draft: T }>();
  // Otherwise the draft would return with the value, for example when the change is undone.
  if (typed !== undefined && typed.over !== key) setTyped(undefined);
  const put = (draft: T): void => {
    setTyped({ over: key, draft });
  };
  return [typed?.over === key ? typed.draft : given, put];
}
