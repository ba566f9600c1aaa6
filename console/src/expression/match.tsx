/** How many recorded events an expression holds for, while it is written. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../api/client";
import { hasRole, useTenant } from "../frame/session";
import { text } from "../text/en";

const words = text.traffic;
const NEWEST = 10_000;

/** The count of a text in which the service found nothing wrong; null while that is not known. */
export function MatchCount({ expression }: { expression: string | null }) {
  const { tenant_id, role } = useTenant();
  const found = useQuery({
    queryKey: ["match", tenant_id, "count", expression],
    enabled: expression !== null && hasRole(role, "Analyst"),
    // An answer about an earlier text is dropped with its key.
    queryFn: ({ signal }) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/traffic/match", {
          params: { path: { tenant_id } },
          body: { expression, purpose: "condition", newest: NEWEST, samples: 0 },
          signal,
        }),
      ),
  });
  if (found.data === undefined)
    return found.isLoading ? <p class="quiet">{words.looking}</p> : null;
  const { matched, looked_at, complete } = found.data;
  return (
    <p class="quiet">
      {words.summary(matched, looked_at)} {complete ? "" : words.partial}
    </p>
  );
}
