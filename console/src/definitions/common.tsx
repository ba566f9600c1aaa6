/** Form fields for the members that every definition has. */

import { useState } from "preact/hooks";
import { AreaField, CheckField, TextField } from "../parts/form";
import { text } from "../text/en";
import { linesOf, namedOf, type Named } from "./lines";

const words = text.editing;

interface Members {
  name: string;
  description: string;
  labels: Named;
  enabled?: boolean;
}

export function CommonFields<M extends Members>(props: {
  value: M;
  change: (changes: Partial<M>) => void;
}) {
  const { value } = props;
  // A subset of the members; the compiler can't see that for every M.
  const change = props.change as (changes: Partial<Members>) => void;
  return (
    <>
      <TextField
        label={words.name}
        isRequired
        value={value.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      <TextField
        label={words.description}
        value={value.description}
        onChange={(description) => {
          change({ description });
        }}
      />
      <Labels
        value={value.labels}
        onChange={(labels) => {
          change({ labels });
        }}
      />
      {value.enabled !== undefined && (
        <CheckField
          label={words.enabled}
          value={value.enabled}
          onChange={(enabled) => {
            change({ enabled });
          }}
        />
      )}
    </>
  );
}

function Labels({ value, onChange }: { value: Named; onChange: (value: Named) => void }) {
  // The text as typed, unless the labels have changed elsewhere.
  const [typed, setTyped] = useState("");
  const isTyped = linesOf(namedOf(typed)) === linesOf(value);
  return (
    <AreaField
      label={words.labels}
      rows={2}
      value={isTyped ? typed : linesOf(value)}
      onChange={(lines) => {
        setTyped(lines);
        onChange(namedOf(lines));
      }}
    />
  );
}
