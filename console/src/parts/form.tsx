/** Form fields: a label, a value, and a callback for changes. */

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
  /** Whether it is only as wide as its options. */
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
