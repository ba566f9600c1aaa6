/** Is it working, and what changed? */

import { useQuery } from "@tanstack/preact-query";
import { api, body, page } from "../../api/client";
import { range, RANGES, since } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Counts } from "../../parts/counts";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.overview;

export default function OverviewPage() {
  const tenant = useTenant();
  return (
    <>
      <h1>{text.pages.overview}</h1>
      <section class="card" aria-labelledby="counts">
        <h2 id="counts">{words.counts}</h2>
        <Timeline />
      </section>
      <div class="cards">
        <section class="card" aria-labelledby="by-policy">
          <h2 id="by-policy">{words.policies}</h2>
          <ByPolicy />
        </section>
        {hasRole(tenant.role, "Analyst") && (
          <section class="card" aria-labelledby="changes">
            <h2 id="changes">{words.changes}</h2>
            <Changes />
          </section>
        )}
      </div>
    </>
  );
}

function Timeline() {
  const { tenant_id } = useTenant();
  const name = range.value;
  const query = { since: since(name, Date.now()), step: RANGES[name].step };
  const found = useQuery({
    queryKey: ["timeline", tenant_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/results/timeline", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
  return (
    <Answered of={found}>
      {(steps) =>
        steps.some((step) => step.total > 0) ? <Counts steps={steps} /> : <p>{words.quiet}</p>
      }
    </Answered>
  );
}

function ByPolicy() {
  const { tenant_id, slug } = useTenant();
  const query = { since: since(range.value, Date.now()), limit: 20 };
  const found = useQuery({
    queryKey: ["results", tenant_id, query],
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/results/policies", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
  return (
    <Answered of={found}>
      {({ rows }) => (
        <Table
          label={words.policies}
          rows={rows}
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
            { name: text.actions.challenge, kind: "number", cell: (each) => each.challenge },
            { name: text.actions.block, kind: "number", cell: (each) => each.block },
            { name: words.errors, kind: "number", cell: (each) => each.errors },
          ]}
        />
      )}
    </Answered>
  );
}

function Changes() {
  const { tenant_id } = useTenant();
  const found = useQuery({
    queryKey: ["audit", tenant_id, "newest"],
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/audit", {
          params: { path: { tenant_id }, query: { limit: 8 } },
        }),
      ),
  });
  return (
    <Answered of={found}>
      {({ rows }) => (
        <ul class="tree">
          {rows.map((each) => (
            <li>
              <Moment at={each.at} /> {marked(each.actor_name ?? each.actor)}: {each.action}{" "}
              {each.kind}
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}
