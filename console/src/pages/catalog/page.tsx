/** The catalog: which fields do I have? */

import { api, page, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Copy } from "../../parts/copy";
import { Foreign, marked } from "../../parts/foreign";
import { PERCENT } from "../../format/percent";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { useUsage } from "./usage";

const words = text.catalog;
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
  {
    name: words.values,
    kind: "text",
    cell: (field) =>
      field.top_values && (
        <ul class="values">
          {field.top_values.map((each) => (
            <li key={String(each.value)}>
              <Foreign text={String(each.value).slice(0, 60) || text.traffic.blank} /> {each.count}
            </li>
          ))}
        </ul>
      ),
  },
  { name: words.meaning, kind: "text", cell: (field) => marked(field.description) },
];

export default function CatalogPage() {
  const { tenant_id, slug } = useTenant();
  const usesOf = useUsage();
  const usedBy: Column<Field> = {
    name: text.editing.usedBy,
    kind: "text",
    cell: (field) => {
      const uses = usesOf(field.expression);
      return (
        uses.length > 0 && (
          <ul class="values">
            {uses.map(({ name, path }) => (
              <li key={path}>
                <a href={`/console/${slug}/${path}`}>{marked(name)}</a>
              </li>
            ))}
          </ul>
        )
      );
    },
  };
  return (
    <>
      <h1>{text.pages.catalog}</h1>
      <Listing
        label={text.pages.catalog}
        queryKey={["catalog", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/field-catalog", {
              params: { path: { tenant_id }, query: { ...pageQuery(cursor, 500), values: true } },
            }),
          )
        }
        columns={[...COLUMNS, usedBy]}
        keyOf={(field) => field.name}
        empty={<p>{words.empty}</p>}
      />
    </>
  );
}
