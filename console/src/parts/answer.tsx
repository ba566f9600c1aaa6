/** The states of every answer: loading, failed, loaded. */

import type { UseQueryResult } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { Loading } from "./loading";
import { ProblemPanel } from "./problem";

export function Answered<T>({
  of,
  children,
}: {
  of: UseQueryResult<T>;
  children: (data: T) => ComponentChildren;
}) {
  const again = (): void => void of.refetch();
  return (
    <>
      {of.error && <ProblemPanel error={of.error} retry={again} />}
      {of.data === undefined ? !of.error && <Loading /> : children(of.data)}
    </>
  );
}
