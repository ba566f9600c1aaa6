/** Matches in recent traffic for an expression or a policy draft, while it is edited. */

import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../api/client";
import { hasRole, useTenant } from "../frame/session";
import { Badge } from "../parts/badge";
import { Foreign, marked } from "../parts/foreign";
import { Moment } from "../parts/moment";
import { ProblemPanel } from "../parts/problem";
import { Table } from "../parts/table";
import { text } from "../text/en";

const words = text.traffic;
const NEWEST = 10_000;
const SAMPLES = 5;
type Asked = Schemas["TrafficMatch"];
type Found = Schemas["TrafficFound"];

/** Count and samples of the matches; nothing for null, a text with errors. */
export function Matches({
  asked,
}: {
  asked: Pick<Asked, "expression" | "purpose" | "policy"> | null;
}) {
  const { tenant_id, role } = useTenant();
  const found = useQuery({
    queryKey: ["match", tenant_id, "while-typing", asked],
    enabled: asked !== null && hasRole(role, "Analyst"),
    placeholderData: keepPreviousData,
    // A new key drops the answer about an earlier text.
    queryFn: ({ signal }) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/traffic/match", {
          params: { path: { tenant_id } },
          body: { ...asked, newest: NEWEST, samples: SAMPLES },
          signal,
        }),
      ),
  });
  if (asked === null) return null;
  if (found.error) return <ProblemPanel error={found.error} />;
  if (found.data === undefined)
    return found.isLoading ? <p class="quiet">{words.looking}</p> : null;
  return (
    <div class="matches" aria-busy={found.isPlaceholderData}>
      <p role="status">{summaryOf(found.data)}</p>
      <Counts found={found.data} />
      {found.data.samples.length > 0 && <Samples rows={found.data.samples} />}
    </div>
  );
}

function summaryOf({ matched, looked_at, complete, errors }: Found): string {
  const failed = errors.map((each) => `${each.code}: ${each.count}`).join(", ");
  return [
    words.summary(matched, looked_at),
    complete ? "" : words.partial,
    failed && `${words.errors} ${failed}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** The effect of a draft; empty for a single expression. */
function Counts({ found }: { found: Found }) {
  if (found.in_scope === null) return null;
  return (
    <ul class="tree">
      <li>{words.inScope(found.in_scope)}</li>
      {found.clauses.map(({ clause, fired, entities }) => (
        <li key={clause}>{words.clauseFired(marked(clause), fired, entities)}</li>
      ))}
      {found.left_out
        .filter((each) => each.not_applied > 0)
        .map(({ entity, not_applied, why }) => (
          <li key={`left out ${entity}`}>
            {words.leftOut(marked(entity), not_applied, marked(why[0]?.reason ?? ""))}
          </li>
        ))}
      {found.could_not_fire.map(({ because }) => (
        <li key={because} class="problem">
          {words.couldNotFire(marked(because))}
        </li>
      ))}
      {found.outcomes.map(({ recorded, draft, count }) => (
        <li key={`${recorded} ${draft ?? ""}`}>
          {count}: <Badge answer={recorded} />
          {draft !== null && (
            <>
              {" → "}
              <Badge answer={draft} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Samples({ rows }: { rows: Found["samples"] }) {
  const { slug } = useTenant();
  const columns = text.decisions.columns;
  return (
    <Table
      label={words.samples}
      rows={rows}
      keyOf={(row) => row.decision_id}
      columns={[
        {
          name: columns.time,
          cell: (row) => (
            <a href={`/console/${slug}/decisions/${row.decision_id}`}>
              <Moment at={row.received_at} />
            </a>
          ),
        },
        { name: columns.action, cell: (row) => <Badge answer={row.action} /> },
        {
          name: columns.path,
          kind: "text",
          cell: (row) => <Foreign text={`${row.method ?? ""} ${row.path ?? ""}`} />,
        },
      ]}
    />
  );
}
