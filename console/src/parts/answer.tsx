/** The states of every answer: loading, failed, loaded. */

import type { UseQueryResult } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { Loading } from "./loading";
import { ProblemPanel } from "./problem";

export function Answered<T>({
  of,
  waiting = <Loading />,
  children,
}: {
  of: UseQueryResult<T>;
  /** Shown until there is an answer. */
  waiting?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const again = (): void => void of.refetch();
  return (
    <>
      {of.error && <ProblemPanel error={of.error} retry={again} />}
      {of.data === undefined ? !of.error && waiting : children(of.data)}
    </>
  );
}
