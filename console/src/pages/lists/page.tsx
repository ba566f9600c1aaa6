/** The lists: which values do policies look up? */

import { api, page, type Schemas } from "../../api/client";
import { Shelf } from "../../definitions/shelf";
import { Foreign } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { pageQuery } from "../../parts/table";
import { text } from "../../text/en";
import { readerOf } from "../list/entries";

const words = text.list;

export default function ListsPage() {
  return (
    <Shelf<Schemas["ListSummary"]>
      title={text.pages.lists}
      folder="lists"
      create={words.create}
      ask={(tenant_id, cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/lists", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      idOf={(row) => row.list_id}
      columns={[
        { name: words.kind, cell: (row) => words.kinds[row.kind] },
        { name: words.entries, kind: "number", cell: (row) => row.entry_count },
        { name: words.read, kind: "text", cell: (row) => <Foreign text={readerOf(row)} /> },
        { name: words.changed, cell: (row) => <Moment at={row.updated_at} /> },
      ]}
      empty={words.empty}
    />
  );
}
