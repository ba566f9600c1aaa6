/** A form over a draft: its refusals, a change that somebody else made meanwhile, and the button. */

import type { ComponentChildren } from "preact";
import type { Draft } from "../frame/draft";
import { text } from "../text/en";
import { ProblemPanel } from "./problem";
import { Stale } from "./stale";

const words = text.editing;

export function DraftForm<O, D>(props: {
  title: string;
  draft: Draft<O, D>;
  draftOf: (object: O) => D;
  mayWrite: boolean;
  children: ComponentChildren;
}) {
  const { draft, mayWrite } = props;
  const { theirs } = draft;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void draft.save();
      }}
    >
      <h1>{props.title}</h1>
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
      <fieldset class="plain" disabled={!mayWrite}>
        {props.children}
        <button class="primary" title={mayWrite ? "" : words.needsAdmin}>
          {words.save}
        </button>
      </fieldset>
      {!mayWrite && <p class="quiet">{words.needsAdmin}</p>}
      <p role="status">{draft.isSaved ? words.saved : ""}</p>
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
  onChange: (value: number) => void;
}) {
  return (
    <label class="field">
      {props.label}
      <input
        type="number"
        required
        min={props.min ?? 0}
        value={props.value}
        onChange={(event) => {
          props.onChange(event.currentTarget.valueAsNumber);
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
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <label class="field">
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
