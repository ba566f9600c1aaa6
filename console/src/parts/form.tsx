/** A form over a draft: its refusals, a change that somebody else made meanwhile, and the button. */

import type { ComponentChildren } from "preact";
import type { Draft } from "../frame/draft";
import { text } from "../text/en";
import { ProblemPanel } from "./problem";
import { Stale } from "./stale";

const words = text.editing;

export function DraftForm<O, D>(props: {
  /** Null where it stands in a section that has one. */
  title: string | null;
  draft: Draft<O, D>;
  draftOf: (object: O) => D;
  /** Why the operator may not save; null when the operator may. */
  refusal: string | null;
  children: ComponentChildren;
}) {
  const { draft, refusal } = props;
  const { theirs } = draft;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void draft.save();
      }}
    >
      {props.title !== null && <h1>{props.title}</h1>}
      {draft.error !== null && <ProblemPanel error={draft.error} />}
      {theirs && (
        <Stale
          base={draft.base}
          mine={draft.value}
          theirs={props.draftOf(theirs)}
          takeTheirs={() => {
            draft.takeTheirs(theirs);
          }}
          saveMine={() => void draft.saveOver(theirs)}
        />
      )}
      <fieldset class="plain" disabled={refusal !== null}>
        {props.children}
        <button class="primary" title={refusal ?? ""}>
          {words.save}
        </button>
      </fieldset>
      {refusal !== null && <p class="quiet">{refusal}</p>}
      <p role="status">{draft.saved ? words.saved : ""}</p>
    </form>
  );
}

export function TextField(props: {
  label: string;
  value: string;
  isRequired?: boolean;
  onChange: (value: string) => void;
}) {
  return (
    <label class="field">
      {props.label}
      <input
        required={props.isRequired ?? false}
        value={props.value}
        onInput={(event) => {
          props.onChange(event.currentTarget.value);
        }}
      />
    </label>
  );
}

export function NumberField(props: {
  label: string;
  value: number;
  min?: number;
  max?: number;
  onChange: (value: number) => void;
}) {
  return (
    <label class="field">
      {props.label}
      <input
        type="number"
        required
        min={props.min ?? 0}
        {...(props.max === undefined ? {} : { max: props.max })}
        value={props.value}
        onChange={(event) => {
          props.onChange(event.currentTarget.valueAsNumber);
        }}
      />
    </label>
  );
}

export function AreaField(props: {
  label: string;
  value: string;
  rows?: number;
  onChange: (value: string) => void;
}) {
  return (
    <label class="field">
      {props.label}
      <textarea
        class="mono"
        rows={props.rows ?? 4}
        value={props.value}
        spellcheck={false}
        onInput={(event) => {
          props.onChange(event.currentTarget.value);
        }}
      />
    </label>
  );
}

export function CheckField(props: {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
}) {
  return (
    <label class="row check">
      <input
        type="checkbox"
        checked={props.value}
        onChange={(event) => {
          props.onChange(event.currentTarget.checked);
        }}
      />
      {props.label}
    </label>
  );
}

export function ChoiceField<T extends string>(props: {
  label: string;
  /** Only as wide as its texts. */
  isNarrow?: boolean;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <label class={props.isNarrow ? "field short" : "field"}>
      {props.label}
      <select
        value={props.value}
        onChange={(event) => {
          props.onChange(event.currentTarget.value as T);
        }}
      >
        {props.options.map(([value, name]) => (
          <option value={value} key={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
