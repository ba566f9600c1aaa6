/** Who changed what? */

import { api, page, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { marked } from "../../parts/foreign";
import { Difference } from "../../parts/difference";
import { Moment } from "../../parts/moment";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.audit;
type Entry = Schemas["AuditEntry"];

const COLUMNS: readonly Column<Entry>[] = [
  { name: words.at, cell: (entry) => <Moment at={entry.at} /> },
  { name: words.actor, cell: (entry) => marked(entry.actor_name ?? entry.actor) },
  { name: words.action, cell: (entry) => `${entry.action} ${entry.kind}` },
  {
    name: words.change,
    kind: "text",
    cell: (entry) => <Difference before={entry.before} after={entry.after} />,
  },
];

export default function AuditPage() {
  const { tenant_id } = useTenant();
  return (
    <>
      <h1>{text.pages.audit}</h1>
      <Listing
        label={text.pages.audit}
        queryKey={["audit", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/audit", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={COLUMNS}
        keyOf={(entry) => entry.audit_id}
        empty={<p>{words.empty}</p>}
      />
    </>
  );
}
