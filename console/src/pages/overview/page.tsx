/** The overview: is it working, and what changed? */

import { useQuery } from "@tanstack/preact-query";
import { api, page } from "../../api/client";
import { Begin } from "../../recorded/begin";
import { bounds, filters, setFilters } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { useTimeline } from "../../recorded/timeline";
import { Answered } from "../../parts/answer";
import { Counts } from "../../parts/counts";
import { Difference } from "../../parts/difference";
import { marked } from "../../parts/foreign";
import { ChoiceField } from "../../parts/form";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";
import { ByPolicy } from "./by-policy";
import { Series, Standing } from "./series";

const words = text.overview;
const SHOWN = 8;
/** Kinds of objects that affect decisions; their changes are marked in the plot. */
const DEFINED = new Set(["policy", "action", "mitigation", "list", "entity"]);

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
  const by = BY.map(([each]) => each).find((each) => each === filters.value.get("by")) ?? "action";
  const found = useTimeline({ by });
  const changes = useChanges().data?.rows.filter((each) => DEFINED.has(each.kind));
  return (
    <>
      <ChoiceField
        isNarrow
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
            <>
              <p>{words.quiet}</p>
              <Begin />
            </>
          ) : by === "action" ? (
            <Counts steps={steps} changes={(changes ?? []).map((each) => each.at)} />
          ) : (
            <Series steps={steps} by={by} />
          )
        }
      </Answered>
    </>
  );
}

/** The newest changes in the time range; empty for roles that may not read the audit. */
function useChanges() {
  const { tenant_id, role } = useTenant();
  const query = { ...bounds(), limit: 50 };
  return useQuery({
    queryKey: ["audit", tenant_id, "newest", query],
    enabled: hasRole(role, "Analyst"),
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/audit", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
}

function Changes() {
  const found = useChanges();
  return (
    <Answered of={found}>
      {({ rows }) =>
        rows.length === 0 ? (
          <p>{words.unchanged}</p>
        ) : (
          <ul class="tree">
            {rows.slice(0, SHOWN).map((each) => (
              <li key={each.audit_id}>
                <Moment at={each.at} /> {marked(each.actor_name ?? each.actor)}: {each.action}{" "}
                {each.kind}
                <Difference before={each.before} after={each.after} />
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  );
}
