/** The status of the service for the tenant. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { hasRole, useTenant } from "../../frame/session";

export function useStatus() {
  const { tenant_id, role } = useTenant();
  return useQuery({
    queryKey: ["status", tenant_id],
    enabled: hasRole(role, "Analyst"),
    queryFn: () =>
      body(api.GET("/api/v1/tenants/{tenant_id}/status", { params: { path: { tenant_id } } })),
  });
}
