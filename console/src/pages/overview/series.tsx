/** Decisions over time, with a row for each reason, API key or policy. */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../../api/client";
import { usePolicyNames } from "../../definitions/objects";
import { hasRole, useTenant } from "../../frame/session";
import type { By } from "../../recorded/timeline";
import { marked } from "../../parts/foreign";
import { Line } from "../../recorded/line";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.overview;
type Step = Schemas["TimelineStep"];
type SeriesBy = Exclude<By, "action">;
const MOST = 12;

export function Series({ steps, by }: { steps: readonly Step[]; by: SeriesBy }) {
  const nameOf = useNames(by);
  const totals = new Map<string, number>();
  for (const step of steps)
    for (const [name, count] of Object.entries(step.series ?? {}))
      totals.set(name, (totals.get(name) ?? 0) + count);
  const rows = [...totals].sort((a, b) => b[1] - a[1]).slice(0, MOST);
  if (rows.length === 0) return <p class="quiet">{words.noSeries}</p>;
  return (
    <Table
      label={words.by[by]}
      rows={rows}
      keyOf={([name]) => name}
      columns={[
        { name: words.by[by], kind: "text", cell: ([name]) => marked(nameOf(name)) },
        { name: words.total, kind: "number", cell: ([, total]) => total },
        { name: text.traffic.overTime, cell: ([name]) => <Line name={name} steps={steps} /> },
      ]}
    />
  );
}

/** The name of a series; shows names instead of the ids of policies and keys. */
function useNames(by: SeriesBy): (name: string) => string {
  const policies = usePolicyNames();
  const { tenant_id, role } = useTenant();
  const keys = useQuery({
    queryKey: ["keys", tenant_id, "names"],
    enabled: by === "api_key" && hasRole(role, "Admin"),
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/api-keys", {
          params: { path: { tenant_id }, query: { limit: 500 } },
        }),
      ),
  });
  if (by === "reason") return (name) => text.reasons[name as keyof typeof text.reasons];
  if (by === "policy") return (name) => policies.get(name) ?? name;
  const named = new Map(keys.data?.rows.map((key) => [key.api_key_id, key.name]));
  return (name) => named.get(name) ?? name;
}
