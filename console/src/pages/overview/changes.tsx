/** The newest changes, a sentence each. */

import { useQuery } from "@tanstack/preact-query";
import { api, page } from "../../api/client";
import { bounds } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { said } from "../../recorded/said";
import { text } from "../../text/en";

const SHOWN = 6;
/** Kinds of objects that affect decisions; their changes are marked in the plot. */
export const DEFINED = new Set(["policy", "action", "mitigation", "list", "entity"]);

/** The newest changes in the time range; empty for roles that may not read the audit. */
export function useChanges() {
  const { tenant_id, role } = useTenant();
  const query = { ...bounds(), limit: 50 };
  return useQuery({
    queryKey: ["audit", tenant_id, "newest", query],
    enabled: hasRole(role, "Analyst"),
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/audit", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
}

export function Changes() {
  const found = useChanges();
  return (
    <Answered of={found}>
      {({ rows }) =>
        rows.length === 0 ? (
          <p class="quiet">{text.overview.unchanged}</p>
        ) : (
          <ul class="health">
            {rows.slice(0, SHOWN).map((each) => (
              <li key={each.audit_id}>
                <span class="quiet">
                  <Moment at={each.at} />
                </span>
                <span>
                  <strong>{marked(each.actor_name ?? each.actor)}</strong> {marked(said(each))}
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  );
}
