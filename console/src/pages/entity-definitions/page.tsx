/** The entity definitions: how are visitors told apart? */

import { api, page, type Schemas } from "../../api/client";
import { enabledColumn, Shelf, useUsage } from "../../definitions/shelf";
import { Foreign } from "../../parts/foreign";
import { pageQuery } from "../../parts/table";
import { text } from "../../text/en";

const words = text.entityDefinition;

export default function EntityDefinitionsPage() {
  const usage = useUsage();
  return (
    <Shelf<Schemas["EntityDefinition"]>
      title={text.pages.entityDefinitions}
      folder="entity-definitions"
      create={words.create}
      ask={(tenant_id, cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/entity-definitions", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      idOf={(row) => row.entity_definition_id}
      columns={[
        {
          name: words.key,
          kind: "text",
          cell: (row) => <Foreign text={row.key_fields.join(", ")} />,
        },
        { name: words.onMissing, cell: (row) => words.missing[row.on_missing_key] },
        { name: text.policies.columns.order, kind: "number", cell: (row) => row.priority },
        enabledColumn(),
        { name: text.editing.usedBy, cell: (row) => usage(row.entity_definition_id) },
      ]}
      empty={words.empty}
    />
  );
}
