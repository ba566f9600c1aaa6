/** The results of a policy: what does it do, and does it hurt people? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { bounds } from "../../frame/place";
import { PolicyTabs } from "../../definitions/policy-tabs";
import { hasRole, useTenant } from "../../frame/session";
import { Answers } from "../../recorded/over-time";
import { useTimeline } from "../../recorded/timeline";
import { Answered } from "../../parts/answer";
import { Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Table } from "../../parts/table";
import { Pairs } from "../../parts/pairs";
import { text } from "../../text/en";

const words = text.policyResults;
type Result = Schemas["PolicyResult"];
const SHARES = ["block", "challenge", "allow", "monitor", "by_others", "errors"] as const;

export default function PolicyResultsPage() {
  const policy_id = useRoute().params["id"] ?? "";
  const { tenant_id } = useTenant();
  const query = bounds();
  const found = useQuery({
    queryKey: ["results", tenant_id, policy_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/results/policies/{policy_id}", {
          params: { path: { tenant_id, policy_id }, query },
        }),
      ),
  });
  return (
    <>
      <PolicyTabs id={policy_id} />
      <Answered of={found}>
        {(result) => (
          <>
            <h1>{marked(result.name ?? policy_id)}</h1>
            {result.total === 0 ? (
              <p class="card empty">{words.empty}</p>
            ) : (
              <div class="cards">
                <Shares result={result} />
                <Timeline policy_id={policy_id} />
              </div>
            )}
            <Newest result={result} />
          </>
        )}
      </Answered>
    </>
  );
}

function Shares({ result }: { result: Result }) {
  return (
    <section class="card" aria-labelledby="shares">
      <h2 id="shares">
        {words.matched}: {result.total}
      </h2>
      <Pairs
        of={SHARES.map((name) => [
          words.shares[name],
          <>
            {result[name]}{" "}
            <meter
              min={0}
              max={result.total}
              value={result[name]}
              aria-label={words.shares[name]}
            />
          </>,
        ])}
      />
    </section>
  );
}

function Timeline({ policy_id }: { policy_id: string }) {
  const found = useTimeline({ policy_id });
  return (
    <section class="card" aria-labelledby="over-time">
      <h2 id="over-time">{words.overTime}</h2>
      <Answered of={found} waiting={<div class="plot" />}>
        {(steps) => <Answers steps={steps} filters={{ policy: policy_id }} isOfPolicy />}
      </Answered>
    </section>
  );
}

function Newest({ result }: { result: Result }) {
  const { slug, role } = useTenant();
  if (result.recent_decisions.length === 0) return null;
  return (
    <section class="card" aria-labelledby="newest">
      <h2 id="newest">{words.newest}</h2>
      {!hasRole(role, "Analyst") && <p class="quiet">{text.roles.needs.Analyst}</p>}
      <Table
        label={words.newest}
        rows={result.recent_decisions}
        keyOf={(row) => row.decision_id}
        columns={[
          {
            name: text.decisions.columns.time,
            cell: (row) => (
              <a href={`/console/${slug}/decisions/${row.decision_id}`}>
                <Moment at={row.observed_at} />
              </a>
            ),
          },
          { name: text.decisions.columns.action, cell: (row) => <Badge answer={row.action} /> },
          {
            name: text.decisions.columns.path,
            kind: "text",
            cell: (row) => <Foreign text={row.path ?? ""} />,
          },
        ]}
      />
      <p>
        <a href={`/console/${slug}/decisions#policy=${result.policy_id}`}>{words.all}</a>
      </p>
    </section>
  );
}
