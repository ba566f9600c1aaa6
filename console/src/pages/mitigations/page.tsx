/** The mitigations: what can be done with a visitor? */

import { api, page, type Schemas } from "../../api/client";
import { enabledColumn, Shelf, useUsage } from "../../definitions/shelf";
import { answerOfMode, Badge } from "../../parts/badge";
import { pageQuery } from "../../parts/table";
import { text } from "../../text/en";

const words = text.mitigation;

export default function MitigationsPage() {
  const usage = useUsage();
  return (
    <Shelf<Schemas["Mitigation"]>
      title={text.pages.mitigations}
      folder="mitigations"
      create={words.create}
      ask={(tenant_id, cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/mitigations", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      idOf={(row) => row.mitigation_id}
      columns={[
        { name: words.mode, cell: (row) => <Badge answer={answerOfMode(row.mode)} /> },
        { name: words.ttl, kind: "number", cell: (row) => row.ttl_seconds },
        enabledColumn(),
        { name: text.editing.usedBy, cell: (row) => usage(row.mitigation_id) },
      ]}
      empty={words.empty}
    />
  );
}
