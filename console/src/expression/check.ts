/** The service's report about a text as it is typed. A late report never replaces a newer one. */

import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../api/client";
import { useTenant } from "../frame/session";
import { useSettled } from "../parts/settled";

export type Report = Schemas["ExpressionReport"];
export type Finding = Schemas["ExpressionFinding"];
export type Purpose = NonNullable<Schemas["ExpressionCheck"]["purpose"]>;
const KEPT_MS = 60_000;

/** A text and its purpose, which determines the names it may use. */
export interface Question {
  expression: string;
  purpose: Purpose;
  /** Whether it is the condition of a clause that has an entity. */
  entity?: boolean;
}

export interface Checked {
  /** The report about the text, or about an earlier one until the new report arrives. */
  report: Report | null;
  /** Whether the report is about the current text. */
  isCurrent: boolean;
  error: unknown;
}

/** The check of a text; callers with the same text share the answer. */
export function checkQuery(tenant_id: string, { expression, purpose, entity = false }: Question) {
  return {
    queryKey: ["check", tenant_id, purpose, entity, expression],
    enabled: expression.trim() !== "",
    gcTime: KEPT_MS,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/expressions/check", {
          params: { path: { tenant_id } },
          body: { expression, purpose, entity, types: true },
          signal,
        }),
      ),
  };
}

/** Checks a text after a pause in typing. An empty text has no report. */
export function useCheck(question: Question): Checked {
  const { tenant_id } = useTenant();
  const expression = useSettled(question.expression);
  // An answer about an earlier text has a different key, and its call is cancelled.
  const found = useQuery({
    ...checkQuery(tenant_id, { ...question, expression }),
    placeholderData: keepPreviousData,
  });
  const report = expression.trim() ? (found.data ?? null) : null;
  const isCurrent = expression === question.expression && !found.isPlaceholderData;
  return { report, isCurrent, error: found.error };
}
