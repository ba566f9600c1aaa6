/** The policies with the largest changes since the previous time range. */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../../api/client";
import { bounds, boundsBefore } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { changeOf } from "./change";
import { turnOf } from "./turn";

const words = text.overview;
const MOST = 500;
const SHOWN = 8;
type Result = Schemas["PolicyResults"];

export function ByPolicy() {
  const { slug } = useTenant();
  const now = useResults(bounds());
  const before = new Map(useResults(boundsBefore()).data?.map((each) => [each.policy_id, each]));
  const countBefore = (each: Result): number => before.get(each.policy_id)?.total ?? 0;
  const turn = (each: Result): number => turnOf(each.total, countBefore(each));
  return (
    <Answered of={now}>
      {(results) =>
        results.length === 0 ? (
          <p class="quiet">{text.policyResults.empty}</p>
        ) : (
          <Table
            label={words.policies}
            rows={[...results].sort((a, b) => turn(b) - turn(a)).slice(0, SHOWN)}
            keyOf={(each) => each.policy_id}
            columns={[
              {
                name: text.policies.columns.name,
                kind: "text",
                cell: (each) => (
                  <a href={`/console/${slug}/policies/${each.policy_id}/results`}>
                    {marked(each.name ?? each.policy_id)}
                  </a>
                ),
              },
              { name: words.matches, kind: "number", cell: (each) => each.total },
              {
                name: words.change,
                kind: "number",
                cell: (each) => changeOf(each.total, countBefore(each)),
              },
              { name: text.overview.challenged, kind: "number", cell: (each) => each.challenge },
              { name: text.overview.blocked, kind: "number", cell: (each) => each.block },
              { name: words.errors, kind: "number", cell: (each) => each.errors },
            ]}
          />
        )
      }
    </Answered>
  );
}

function useResults(query: { since: string; until?: string }) {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["results", tenant_id, "all", query],
    queryFn: async () => {
      const { rows } = await page(
        api.GET("/api/v1/tenants/{tenant_id}/results/policies", {
          params: { path: { tenant_id }, query: { ...query, limit: MOST } },
        }),
      );
      return rows;
    },
  });
}
