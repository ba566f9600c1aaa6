/** The active mitigations: who is stopped now? */

import { api, page, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { answerOfMode, Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { Lift } from "./lift";
import { LiftMany } from "./lift-many";

const words = text.active;
type Row = Schemas["EntityMitigation"];

export default function ActivePage() {
  const { tenant_id, slug } = useTenant();
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
      cell: (row) => <Lift row={row} />,
    },
  ];
  return (
    <>
      <h1>{text.pages.active}</h1>
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
        empty={<p class="card empty">{words.empty}</p>}
      />
    </>
  );
}
