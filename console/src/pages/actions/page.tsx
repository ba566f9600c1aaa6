/** Which behaviours do I recognise? */

import { api, page, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Foreign, marked } from "../../parts/foreign";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.editing;
type Row = Schemas["Action"];

export default function ActionsPage() {
  const { tenant_id, slug } = useTenant();
  const columns: readonly Column<Row>[] = [
    {
      name: words.name,
      cell: (row) => <a href={`/console/${slug}/actions/${row.action_id}`}>{marked(row.name)}</a>,
    },
    { name: words.enabled, cell: (row) => (row.enabled ? "✓" : text.policies.disabled) },
    { name: words.expression, kind: "text", cell: (row) => <Foreign text={row.expression} /> },
  ];
  return (
    <>
      <div class="row spread">
        <h1>{text.pages.actions}</h1>
        <a href={`/console/${slug}/actions/new`}>{words.create}</a>
      </div>
      <Listing
        label={text.pages.actions}
        queryKey={["actions", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/actions", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(row) => row.action_id}
        empty={<p>{words.noActions}</p>}
      />
    </>
  );
}
