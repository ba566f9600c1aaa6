/** Is it working, and what changed? */

import { useQuery } from "@tanstack/preact-query";
import { api, body, page } from "../../api/client";
import { range, RANGES, since } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Counts } from "../../parts/counts";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
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
        <table>
          <thead>
            <tr>
              <th scope="col">{text.policies.columns.name}</th>
              <th scope="col" class="number">
                {text.actions.challenge}
              </th>
              <th scope="col" class="number">
                {text.actions.block}
              </th>
              <th scope="col" class="number">
                {words.errors}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => (
              <tr>
                <td class="text">
                  <a href={`/console/${slug}/decisions#policy=${each.policy_id}`}>
                    {marked(each.name ?? each.policy_id)}
                  </a>
                </td>
                <td class="number">{each.challenge}</td>
                <td class="number">{each.block}</td>
                <td class="number">{each.errors}</td>
              </tr>
            ))}
          </tbody>
        </table>
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
