/** Form fields for the members that every definition has. */

import { CheckField, TextField } from "../parts/form";
import { text } from "../text/en";

const words = text.editing;

interface Members {
  name: string;
  description: string;
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
