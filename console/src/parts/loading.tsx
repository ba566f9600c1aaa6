/** The loading indicator: hidden for 300 ms, since most answers arrive sooner. */

import { useEffect, useState } from "preact/hooks";
import { text } from "../text/en";

export function Loading() {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setShown(true);
    }, 300);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return <p role="status">{shown ? text.frame.loading : ""}</p>;
}
