/** Names for expressions: those of the language, and the fields in traffic. */

import { api, body, queries, type Schemas } from "../api/client";

type Language = Schemas["Language"];
export type CatalogField = Schemas["CatalogField"];
const FRESH_MS = 60_000;
const MOST = 500;

export function language(tenant_id: string): Promise<Language> {
  return queries.query({
    queryKey: ["language", tenant_id],
    staleTime: Infinity,
    queryFn: () =>
      body(api.GET("/api/v1/tenants/{tenant_id}/language", { params: { path: { tenant_id } } })),
  });
}

/** The fields in traffic, by the expression that reads them. */
export async function fields(tenant_id: string): Promise<ReadonlyMap<string, CatalogField>> {
  const found = await queries.query({
    queryKey: ["catalog", tenant_id, "fields"],
    staleTime: FRESH_MS,
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/field-catalog", {
          params: { path: { tenant_id }, query: { limit: MOST } },
        }),
      ),
  });
  return new Map(found.map((field) => [field.expression, field]));
}

/** The most frequent values of a field in recent traffic, as literals. */
export async function recentValues(tenant_id: string, field: string) {
  const found = await queries.query({
    queryKey: ["recent", tenant_id, field],
    staleTime: FRESH_MS,
    queryFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/traffic/facets", {
          params: { path: { tenant_id } },
          body: { fields: [field] },
        }),
      ),
  });
  return found.facets.flatMap((facet) => facet.values);
}
