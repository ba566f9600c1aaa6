/** A value that has stopped changing. */

import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 150;

/** A debounced value: updated after it hasn't changed for a while. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return settled;
}
