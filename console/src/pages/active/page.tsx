/** Who is stopped now? */

import { useMutation } from "@tanstack/preact-query";
import { api, page, queries, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { answerOfMode, Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { LiftMany } from "./lift-many";

const words = text.active;
type Row = Schemas["EntityMitigation"];

export default function ActivePage() {
  const { tenant_id, slug } = useTenant();
  const lift = useLift(tenant_id);
  const columns: readonly Column<Row>[] = [
    { name: words.mode, cell: (row) => <Badge answer={answerOfMode(row.mode)} /> },
    {
      name: words.entity,
      kind: "text",
      cell: (row) => (
        <a href={`/console/${slug}/entities/${row.entity_id}`}>
          {marked(row.definition)}: <Foreign text={row.key.join(", ")} />
        </a>
      ),
    },
    { name: words.policy, cell: (row) => `${marked(row.policy)}, ${marked(row.clause)}` },
    { name: words.until, cell: (row) => <Moment at={row.expires_at} /> },
    {
      name: words.lift,
      cell: (row) => (
        <RoleButton
          needs="Admin"
          isBusy={lift.isPending}
          onClick={() => {
            lift.mutate(row);
          }}
        >
          {words.lift}
        </RoleButton>
      ),
    },
  ];
  return (
    <>
      <h1>{text.pages.active}</h1>
      {lift.error && <ProblemPanel error={lift.error} />}
      <LiftMany />
      <Listing
        label={text.pages.active}
        queryKey={["active", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/active-mitigations", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(row) => row.entity_id + row.policy_id + row.clause}
        empty={<p>{words.empty}</p>}
      />
    </>
  );
}

/** Ends one mitigation of an entity. */
export function useLift(tenant_id: string) {
  return useMutation({
    mutationFn: (row: Row) =>
      api.DELETE("/api/v1/tenants/{tenant_id}/active-mitigations/{entity_id}", {
        params: {
          path: { tenant_id, entity_id: row.entity_id },
          query: { policy_id: row.policy_id, clause: row.clause },
        },
      }),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["active", tenant_id] }),
        queries.invalidateQueries({ queryKey: ["entity", tenant_id] }),
      ]),
  });
}
