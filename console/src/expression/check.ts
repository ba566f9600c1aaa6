/** What the service says of a text while it is typed; a late answer never replaces a newer one. */

import { useEffect, useState } from "preact/hooks";
import { api, body, type Schemas } from "../api/client";

export type Report = Schemas["ExpressionReport"];
export type Finding = Schemas["ExpressionFinding"];
export type Purpose = NonNullable<Schemas["ExpressionCheck"]["purpose"]>;
const PAUSE_MS = 150;

export interface Checked {
  /** The text that the report is about. */
  expression: string;
  report: Report | null;
  error: unknown;
}

/** Checks a text after a pause in the typing. An empty text has no report. */
export function useCheck(tenant_id: string, expression: string, purpose: Purpose): Checked {
  const [checked, setChecked] = useState<Checked>({ expression: "", report: null, error: null });
  useEffect(() => {
    if (!expression.trim()) {
      setChecked({ expression, report: null, error: null });
      return;
    }
    const asked = new AbortController();
    const timer = setTimeout(() => {
      const call = api.POST("/api/v1/tenants/{tenant_id}/expressions/check", {
        params: { path: { tenant_id } },
        body: { expression, purpose },
        signal: asked.signal,
      });
      body(call).then(
        (report) => {
          if (!asked.signal.aborted) setChecked({ expression, report, error: null });
        },
        (error: unknown) => {
          if (!asked.signal.aborted) setChecked({ expression, report: null, error });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [tenant_id, expression, purpose]);
  return checked;
}
