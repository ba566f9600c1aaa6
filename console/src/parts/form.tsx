/** Form fields: a label, a value, and a callback for changes. */

import { useId, useState } from "preact/hooks";
import { text } from "../text/en";
import { UNITS, unitOf } from "../format/duration";

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

/** A number of seconds, as a number and a unit. */
export function DurationField(props: {
  label: string;
  /** In seconds. */
  value: number;
  min?: number;
  onChange: (value: number) => void;
}) {
  const { label, value, min = 1 } = props;
  const id = useId();
  const [chosen, choose] = useState(() => unitOf(value));
  // Another value than the one that was typed may not be whole in the unit.
  const unit = value % chosen === 0 || Number.isNaN(value) ? chosen : unitOf(value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="unit">
        <input
          id={id}
          type="number"
          required
          min={Math.ceil(min / unit)}
          value={Number.isNaN(value) ? "" : value / unit}
          onChange={(event) => {
            props.onChange(event.currentTarget.valueAsNumber * unit);
          }}
        />
        <select
          aria-label={text.units.of(label)}
          value={String(unit)}
          onChange={(event) => {
            const next = Number(event.currentTarget.value);
            choose(next);
            props.onChange((value / unit) * next);
          }}
        >
          {UNITS.map(([name, seconds]) => (
            <option value={String(seconds)} key={name}>
              {text.units[name]}
            </option>
          ))}
        </select>
      </div>
    </div>
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
  /** Whether it is only as wide as its options. */
  isNarrow?: boolean;
  /** Whether it stands in a row of controls, without a margin. */
  isInline?: boolean;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <label class={props.isInline ? "field inline row" : props.isNarrow ? "field short" : "field"}>
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
