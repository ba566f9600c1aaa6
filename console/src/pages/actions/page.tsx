/** The actions: which behaviours do I recognise? */

import { api, page, type Schemas } from "../../api/client";
import { enabledColumn, Shelf, useUsage } from "../../definitions/shelf";
import { Foreign } from "../../parts/foreign";
import { pageQuery } from "../../parts/table";
import { text } from "../../text/en";

const words = text.editing;

export default function ActionsPage() {
  const usage = useUsage();
  return (
    <Shelf<Schemas["Action"]>
      title={text.pages.actions}
      folder="actions"
      create={text.action.create}
      ask={(tenant_id, cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/actions", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      idOf={(row) => row.action_id}
      columns={[
        enabledColumn(),
        { name: words.usedBy, cell: (row) => usage(row.action_id) },
        { name: words.expression, kind: "text", cell: (row) => <Foreign text={row.expression} /> },
      ]}
      empty={text.action.empty}
    />
  );
}
