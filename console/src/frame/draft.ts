/** A change that is being made to an object: read at a revision, saved against that revision. */

import { useState } from "preact/hooks";
import { Problem } from "../api/problem";

export interface Saving<O, D> {
  /** The object as it was read; null for a new one. */
  object: O | null;
  /** The members that the form changes. */
  draftOf: (object: O) => D;
  empty: D;
  read: (object: O) => Promise<O>;
  /** Writes a draft; `tag` is the entity tag that the change is made against. */
  write: (draft: D, tag: string | null) => Promise<O>;
  saved: (object: O) => void | Promise<void>;
  /** Puts an object that was read again in place of `object`. */
  keep: (object: O) => void;
}

export interface Draft<O, D> {
  base: D;
  value: D;
  change: (changes: Partial<D>) => void;
  save: () => Promise<void>;
  saveOver: (theirs: O) => Promise<void>;
  error: unknown;
  /** The object as somebody else changed it meanwhile. */
  theirs: O | null;
  /** Drops the own change for theirs. */
  takeTheirs: (theirs: O) => void;
  isSaved: boolean;
}

export function useDraft<O extends { revision: number }, D extends object>(
  saving: Saving<O, D>,
): Draft<O, D> {
  const { object, draftOf, empty } = saving;
  const base = object ? draftOf(object) : empty;
  const [value, setValue] = useState(base);
  const [error, setError] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<O | null>(null);
  const [isSaved, setIsSaved] = useState(false);

  async function save(against: O | null): Promise<void> {
    setError(null);
    setIsSaved(false);
    try {
      const saved = await saving.write(value, against && `"${against.revision}"`);
      setTheirs(null);
      setIsSaved(true);
      saving.keep(saved);
      await saving.saved(saved);
    } catch (failure) {
      if (object && failure instanceof Problem && failure.status === 412) {
        setTheirs(await saving.read(object));
      } else setError(failure);
    }
  }

  return {
    base,
    value,
    change: (changes) => {
      setValue({ ...value, ...changes });
      setIsSaved(false);
    },
    save: () => save(object),
    saveOver: save,
    error,
    theirs,
    takeTheirs: (found) => {
      saving.keep(found);
      setValue(draftOf(found));
      setTheirs(null);
    },
    isSaved,
  };
}
