/** Which fields do I have? */

import { api, page, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Copy } from "../../parts/copy";
import { Foreign, marked } from "../../parts/foreign";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.catalog;
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
type Field = Schemas["CatalogField"];

const COLUMNS: readonly Column<Field>[] = [
  {
    name: words.field,
    kind: "text",
    cell: (field) => (
      <>
        <Foreign text={field.expression} /> <Copy value={field.expression} what={field.name} />
      </>
    ),
  },
  { name: words.type, cell: (field) => field.type },
  { name: words.group, cell: (field) => field.group },
  {
    name: words.fill,
    kind: "number",
    cell: (field) => (field.fill_rate === null ? "" : PERCENT.format(field.fill_rate)),
  },
  { name: words.distinct, kind: "number", cell: (field) => field.distinct_estimate ?? "" },
  {
    name: words.example,
    kind: "text",
    cell: (field) => <Foreign text={field.example ?? ""} />,
  },
  { name: words.meaning, kind: "text", cell: (field) => marked(field.description) },
];

export default function CatalogPage() {
  const { tenant_id } = useTenant();
  return (
    <>
      <h1>{text.pages.catalog}</h1>
      <Listing
        label={text.pages.catalog}
        queryKey={["catalog", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/field-catalog", {
              params: { path: { tenant_id }, query: pageQuery(cursor, 500) },
            }),
          )
        }
        columns={COLUMNS}
        keyOf={(field) => field.name}
        empty={<p>{words.empty}</p>}
      />
    </>
  );
}
