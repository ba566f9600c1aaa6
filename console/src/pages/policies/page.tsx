/** The policies: which ones are active, and in which order? */

import { useQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../../api/client";
import { useMitigations, usePolicies } from "../../definitions/objects";
import { Line } from "../../recorded/line";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { useTimeline } from "../../recorded/timeline";
import { Answered } from "../../parts/answer";
import { answerOfMode, Badge, type Answer } from "../../parts/badge";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { Findings, useFindings } from "./findings";
import { InTraffic } from "./in-traffic";
import { Moves, useOrder } from "./order";

const words = text.policies;
type Policy = Schemas["Policy"];

export default function PoliciesPage() {
  const { slug } = useTenant();
  const policies = usePolicies();
  const results = useResults().data;
  const timeline = useTimeline({ by: "policy" }).data ?? [];
  const modesOf = useModes();
  const inOrder = [...(policies.data ?? [])].sort((a, b) => a.priority - b.priority);
  const order = useOrder();
  const findings = useFindings();
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
        <>
          <a href={`/console/${slug}/policies/${policy.policy_id}`}>{marked(policy.name)}</a>
          {isLast(policy) && <div class="quiet">{words.last}</div>}
        </>
      ),
    },
    {
      name: words.columns.status,
      cell: (policy) => (policy.enabled ? policy.status : words.disabled),
    },
    {
      name: words.columns.modes,
      cell: (policy) => (
        <span class="row">
          {modesOf(policy).map((answer) => (
            <Badge answer={answer} key={answer} />
          ))}
        </span>
      ),
    },
    {
      name: words.columns.answers,
      kind: "number",
      cell: (policy) => results?.get(policy.policy_id)?.total ?? "",
    },
    {
      name: text.overview.overTime,
      cell: (policy) => <Line name={policy.policy_id} steps={timeline} />,
    },
    {
      name: words.columns.last,
      cell: (policy) => {
        const last = results?.get(policy.policy_id)?.last_match_at;
        return last ? <Moment at={last} /> : words.never;
      },
    },
    {
      name: words.columns.findings,
      kind: "text",
      cell: (policy) => <Findings of={findings.get(policy.policy_id) ?? []} />,
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
        <a class="button primary" href={`/console/${slug}/policies/new`}>
          {text.policy.create}
        </a>
      </div>
      {order.error && <ProblemPanel error={order.error} />}
      <Answered of={policies}>
        {() =>
          inOrder.length === 0 ? (
            <div class="card empty">
              <p>{words.empty}</p>
              <p class="row">
                <a class="button primary" href={`/console/${slug}/packs`}>
                  {words.fromPack}
                </a>
                <a class="button" href={`/console/${slug}/traffic`}>
                  {words.fromTraffic}
                </a>
              </p>
            </div>
          ) : (
            <Table
              label={text.pages.policies}
              rows={inOrder}
              columns={columns}
              isDivided={isLast}
              keyOf={(policy) => policy.policy_id}
            />
          )
        }
      </Answered>
      {inOrder.length > 0 && <InTraffic />}
    </>
  );
}

/** Whether later policies are skipped when a clause of the policy fires. */
function isLast({ enabled, status, clauses }: Policy): boolean {
  return enabled && status === "active" && clauses.some((clause) => clause.final);
}

/** The answers of a policy's clauses when they fire. */
function useModes(): (policy: Policy) => Answer[] {
  const { data } = useMitigations();
  const modes = new Map(data?.map((each) => [each.mitigation_id, each.mode]));
  return ({ clauses }) => {
    const answers = clauses.map(({ mitigation_id, final }) => {
      if (!mitigation_id) return final ? "allow" : "monitor";
      const mode = modes.get(mitigation_id);
      return mode === undefined ? null : answerOfMode(mode);
    });
    return [...new Set(answers.filter((each) => each !== null))];
  };
}

function useResults() {
  const { tenant_id } = useTenant();
  const query = { ...bounds(), limit: 500 };
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
