/** Is it working, and what changed? */

import { useQuery } from "@tanstack/preact-query";
import { api, body, page } from "../../api/client";
import { filters, range, RANGES, setFilters, since } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Counts } from "../../parts/counts";
import { marked } from "../../parts/foreign";
import { ChoiceField } from "../../parts/form";
import { Moment } from "../../parts/moment";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { Series, Standing } from "./series";

const words = text.overview;

export default function OverviewPage() {
  const tenant = useTenant();
  return (
    <>
      <h1>{text.pages.overview}</h1>
      {hasRole(tenant.role, "Analyst") && <Standing />}
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

const BY = (["action", "policy", "reason", "api_key"] as const).map(
  (by) => [by, words.by[by]] as const,
);

function Timeline() {
  const { tenant_id } = useTenant();
  const name = range.value;
  const by = BY.map(([each]) => each).find((each) => each === filters.value.get("by")) ?? "action";
  const query = { since: since(name, Date.now()), step: RANGES[name].step, by };
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
    <>
      <ChoiceField
        label={words.splitBy}
        value={by}
        options={BY}
        onChange={(chosen) => {
          setFilters({ by: chosen });
        }}
      />
      <Answered of={found}>
        {(steps) =>
          !steps.some((step) => step.total > 0) ? (
            <p>{words.quiet}</p>
          ) : by === "action" ? (
            <Counts steps={steps} />
          ) : (
            <Series steps={steps} by={by} />
          )
        }
      </Answered>
    </>
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
