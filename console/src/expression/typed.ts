/** A value that somebody types over. */

import { useState } from "preact/hooks";

/**
 * What was typed over `given`; it is forgotten when `key`, which names that value, changes.
 *
 * The comparison is made while rendering: an effect runs after the first paint, and by then
 * somebody may have typed already.
 */
export function useTyped<T>(given: T, key: string): [T, (draft: T) => void] {
  const [typed, setTyped] = useState<{ over: string; draft: T }>();
  // Otherwise the draft would return with the value, for example when the change is undone.
  if (typed !== undefined && typed.over !== key) setTyped(undefined);
  const put = (draft: T): void => {
    setTyped({ over: key, draft });
  };
  return [typed?.over === key ? typed.draft : given, put];
}
