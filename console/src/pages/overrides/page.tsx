/** Bans and exemptions by hand: who is banned or let through, by whom, why, and until when? */

import { useMutation } from "@tanstack/preact-query";
import { api, page, queries, type Schemas } from "../../api/client";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Act } from "../../overrides/act";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/confirm";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.overrides;
type Row = Schemas["Override"];

export default function OverridesPage() {
  const { tenant_id, slug } = useTenant();
  const columns: readonly Column<Row>[] = [
    {
      name: words.answer,
      cell: (row) => <Badge answer={row.kind === "ban" ? "block" : "allow"} />,
    },
    {
      name: words.target,
      kind: "text",
      cell: (row) =>
        row.entity_id === null ? (
          <code>{row.network}</code>
        ) : (
          <a href={`/console/${slug}/entities/${row.entity_id}`}>{marked(row.name)}</a>
        ),
    },
    { name: words.reason, kind: "text", cell: (row) => marked(row.reason) },
    { name: words.author, cell: (row) => marked(row.author) },
    { name: words.from, cell: (row) => row.starts_at !== null && <Moment at={row.starts_at} /> },
    { name: words.end, cell: (row) => <Until row={row} /> },
    { name: words.endNow, cell: (row) => <End row={row} /> },
  ];
  return (
    <>
      <h1>{text.pages.overrides}</h1>
      <p>{words.about}</p>
      <Act targets={[]} />
      <Listing
        label={text.pages.overrides}
        queryKey={["overrides", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/overrides", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(row) => row.override_id}
        empty={<p class="card empty">{words.empty}</p>}
      />
    </>
  );
}

function Until({ row }: { row: Row }) {
  return (
    <>
      <Moment at={row.ends_at} /> {Date.parse(row.ends_at) <= Date.now() && words.ended}
    </>
  );
}

function End({ row }: { row: Row }) {
  const { tenant_id } = useTenant();
  const refusal = useRefusal("Admin");
  const end = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/tenants/{tenant_id}/overrides/{override_id}", {
        params: { path: { tenant_id, override_id: row.override_id } },
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["overrides", tenant_id] }),
  });
  return (
    <>
      {end.error && <ProblemPanel error={end.error} />}
      <Confirm
        label={words.endNow}
        question={words.sure[row.kind]}
        refusal={refusal}
        onConfirm={() => {
          end.mutate();
        }}
      />
    </>
  );
}
