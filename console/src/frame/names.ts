/** Names of what a tenant defines, by id: answers name objects by their ids. */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../api/client";
import { useTenant } from "./session";

const NOBODY: ReadonlyMap<string, string> = new Map();

export function usePolicies() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["policies", tenant_id],
    queryFn: () => everyPolicy(tenant_id),
  });
}

async function everyPolicy(tenant_id: string): Promise<Schemas["Policy"][]> {
  const all: Schemas["Policy"][] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const query: { limit: number; cursor?: string } = { limit: 500, ...(cursor && { cursor }) };
    const { rows, next } = await page(
      api.GET("/api/v1/tenants/{tenant_id}/policies", { params: { path: { tenant_id }, query } }),
    );
    all.push(...rows);
    cursor = next;
  }
  return all;
}

export function usePolicyNames(): ReadonlyMap<string, string> {
  const { data } = usePolicies();
  return data ? new Map(data.map((each) => [each.policy_id, each.name])) : NOBODY;
}
