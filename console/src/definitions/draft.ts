/** A draft of a change to an object: loaded at a revision, saved against that revision. */

import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem";

export interface Saving<O, D> {
  /** The object as last loaded; null for a new one. */
  object: O | null;
  /** The members that the form changes. */
  draftOf: (object: O) => D;
  empty: D;
  read: (object: O) => Promise<O>;
  /** Saves a draft; `tag` is the entity tag of the revision it is based on. */
  write: (draft: D, tag: string | null) => Promise<O>;
  saved: (object: O) => void | Promise<void>;
}

export interface Draft<O, D> {
  base: D;
  value: D;
  change: (changes: Partial<D>) => void;
  save: () => Promise<void>;
  saveOver: (theirs: O) => Promise<void>;
  error: unknown;
  /** The object as somebody else has changed it in the meantime. */
  theirs: O | null;
  /** Discards the draft and takes their version. */
  takeTheirs: (theirs: O) => void;
  /** The answer to the last save, until the next change. */
  saved: O | null;
  isChanged: boolean;
}

export function useDraft<O extends { revision: number }, D extends object>(
  saving: Saving<O, D>,
): Draft<O, D> {
  const { draftOf, empty } = saving;
  // The base of the change; a newer load must not replace it silently.
  const [object, setObject] = useState(saving.object);
  const base = object ? draftOf(object) : empty;
  const [value, setValue] = useState(base);
  const [error, setError] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<O | null>(null);
  const [saved, setSaved] = useState<O | null>(null);
  const isChanged = JSON.stringify(value) !== JSON.stringify(base);

  function follow(found: O): void {
    setObject(found);
    setValue(draftOf(found));
    setTheirs(null);
  }

  useEffect(() => {
    const found = saving.object;
    if (found && object && found.revision > object.revision && !isChanged) follow(found);
  }, [saving.object?.revision]);

  async function save(against: O | null): Promise<void> {
    setError(null);
    setSaved(null);
    try {
      const answer = await saving.write(value, against && `"${against.revision}"`);
      follow(answer);
      setSaved(answer);
      await saving.saved(answer);
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
      setValue((latest) => ({ ...latest, ...changes }));
      setSaved(null);
    },
    save: () => save(object),
    saveOver: save,
    error,
    theirs,
    takeTheirs: follow,
    saved,
    isChanged,
  };
}
