/** Complete lists of a tenant's definitions, which policies refer to by id. */

import { useQuery } from "@tanstack/preact-query";
import { allObjects } from "../api/objects";
import { useTenant } from "../frame/session";

export function usePolicies() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["policies", tenant_id, "all"],
    queryFn: () => allObjects("/api/v1/tenants/{tenant_id}/policies", tenant_id),
  });
}

export function useActions() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["actions", tenant_id, "all"],
    queryFn: () => allObjects("/api/v1/tenants/{tenant_id}/actions", tenant_id),
  });
}

export function useEntityDefinitions() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["entity-definitions", tenant_id, "all"],
    queryFn: () => allObjects("/api/v1/tenants/{tenant_id}/entity-definitions", tenant_id),
  });
}

export function useMitigations() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["mitigations", tenant_id, "all"],
    queryFn: () => allObjects("/api/v1/tenants/{tenant_id}/mitigations", tenant_id),
  });
}

export function useLists() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["lists", tenant_id, "all"],
    queryFn: () => allObjects("/api/v1/tenants/{tenant_id}/lists", tenant_id),
  });
}

const NOBODY: ReadonlyMap<string, string> = new Map();

export function usePolicyNames(): ReadonlyMap<string, string> {
  const { data } = usePolicies();
  return data ? new Map(data.map((each) => [each.policy_id, each.name])) : NOBODY;
}
