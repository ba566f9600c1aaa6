/** Decisions over the time range, step by step. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../api/client";
import { bounds, period } from "../frame/place";
import { useTenant } from "../frame/session";

export type By = "action" | "policy" | "reason" | "api_key";

/** The steps of the time range, by the times at which decisions were received, as their list is.
 *
 * @param of the split into series, or the policy to count.
 * @param within since and until; the time range, without it.
 */
export function useTimeline(
  of: { by: By } | { policy_id: string },
  within: { since: string; until?: string } = bounds(),
) {
  const { tenant_id } = useTenant();
  const query = { ...within, step: period.value.step, time: "received" as const, ...of };
  return useQuery({
    queryKey: ["timeline", tenant_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/results/timeline", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
}
