/** What is in force, and in which order? */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../../api/client";
import { usePolicies } from "../../frame/objects";
import { range, since } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { Moves, useOrder } from "./order";

const words = text.policies;
type Policy = Schemas["Policy"];

export default function PoliciesPage() {
  const { slug } = useTenant();
  const policies = usePolicies();
  const results = useResults().data;
  const inOrder = [...(policies.data ?? [])].sort((a, b) => a.priority - b.priority);
  const order = useOrder();
  const columns: readonly Column<Policy>[] = [
    { name: words.columns.order, kind: "number", cell: (policy) => policy.priority },
    {
      name: words.move,
      cell: (policy) => <Moves policy={policy} inOrder={inOrder} order={order} />,
    },
    {
      name: words.columns.name,
      kind: "text",
      cell: (policy) => (
        <a href={`/console/${slug}/policies/${policy.policy_id}`}>{marked(policy.name)}</a>
      ),
    },
    {
      name: words.columns.status,
      cell: (policy) => (policy.enabled ? policy.status : words.disabled),
    },
    {
      name: words.columns.answers,
      kind: "number",
      cell: (policy) => results?.get(policy.policy_id)?.total ?? "",
    },
    {
      name: words.columns.last,
      cell: (policy) => {
        const last = results?.get(policy.policy_id)?.last_match_at;
        return last ? <Moment at={last} /> : words.never;
      },
    },
    {
      name: words.columns.errors,
      kind: "number",
      cell: (policy) => results?.get(policy.policy_id)?.errors ?? "",
    },
  ];
  return (
    <>
      <div class="row spread">
        <h1>{text.pages.policies}</h1>
        <a href={`/console/${slug}/policies/new`}>{text.policy.create}</a>
      </div>
      {order.error && <ProblemPanel error={order.error} />}
      <Answered of={policies}>
        {() =>
          inOrder.length === 0 ? (
            <p>{words.empty}</p>
          ) : (
            <Table
              label={text.pages.policies}
              rows={inOrder}
              columns={columns}
              keyOf={(policy) => policy.policy_id}
            />
          )
        }
      </Answered>
    </>
  );
}

function useResults() {
  const { tenant_id } = useTenant();
  const query = { since: since(range.value, Date.now()), limit: 500 };
  return useQuery({
    queryKey: ["results", tenant_id, query],
    queryFn: async () => {
      const { rows } = await page(
        api.GET("/api/v1/tenants/{tenant_id}/results/policies", {
          params: { path: { tenant_id }, query },
        }),
      );
      return new Map(rows.map((row) => [row.policy_id, row]));
    },
  });
}
