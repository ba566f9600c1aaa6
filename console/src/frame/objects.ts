/** What a tenant defines, whole lists: policies name these objects by their ids. */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Page } from "../api/client";
import { pageQuery } from "../parts/table";
import { useTenant } from "./session";

const MOST = 500;

async function all<T>(ask: (query: { limit: number; cursor?: string }) => Promise<Page<T>>) {
  const found: T[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { rows, next }: Page<T> = await ask(pageQuery(cursor, MOST));
    found.push(...rows);
    cursor = next;
  }
  return found;
}

export function usePolicies() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["policies", tenant_id, "all"],
    queryFn: () =>
      all((query) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/policies", {
            params: { path: { tenant_id }, query },
          }),
        ),
      ),
  });
}

export function useActions() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["actions", tenant_id, "all"],
    queryFn: () =>
      all((query) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/actions", {
            params: { path: { tenant_id }, query },
          }),
        ),
      ),
  });
}

export function useEntityDefinitions() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["entity-definitions", tenant_id, "all"],
    queryFn: () =>
      all((query) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/entity-definitions", {
            params: { path: { tenant_id }, query },
          }),
        ),
      ),
  });
}

export function useMitigations() {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["mitigations", tenant_id, "all"],
    queryFn: () =>
      all((query) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/mitigations", {
            params: { path: { tenant_id }, query },
          }),
        ),
      ),
  });
}

const NOBODY: ReadonlyMap<string, string> = new Map();

export function usePolicyNames(): ReadonlyMap<string, string> {
  const { data } = usePolicies();
  return data ? new Map(data.map((each) => [each.policy_id, each.name])) : NOBODY;
}
