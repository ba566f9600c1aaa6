/** The audit: who changed what? */

import { api, page, type Schemas } from "../../api/client";
import { bounds, filters, setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { said } from "../../recorded/said";
import { marked } from "../../parts/foreign";
import { Difference } from "../../parts/difference";
import { Moment } from "../../parts/moment";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.audit;
type Entry = Schemas["AuditEntry"];
/** Kinds that can be filtered, with the page that shows an object of that kind. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  policy: (id) => `policies/${id}/versions`,
  action: (id) => `actions/${id}`,
  mitigation: (id) => `mitigations/${id}`,
  list: (id) => `lists/${id}`,
  entity: (id) => `entity-definitions/${id}`,
  pack: (id) => `packs/${id}`,
  "active-mitigation": (id) => `entities/${id}`,
  override: () => "overrides",
};
const KINDS = [
  ["", text.decisions.filters.any],
  ...[...Object.keys(PAGES), "replay-job", "alert", "api-key", "membership", "tenant"].map(
    (kind) => [kind, words.kinds[kind] ?? kind] as const,
  ),
] as const;

export default function AuditPage() {
  const { tenant_id, slug } = useTenant();
  const kind = filters.value.get("kind") ?? "";
  const query = { ...bounds(), ...(kind && { kind }) };
  const columns: readonly Column<Entry>[] = [
    { name: words.at, cell: (entry) => <Moment at={entry.at} /> },
    {
      name: words.what,
      kind: "text",
      cell: (entry) => {
        // Lifting many at once doesn't refer to a single entity.
        const isOne = entry.object_id !== tenant_id;
        const shown = isOne ? PAGES[entry.kind]?.(entry.object_id) : undefined;
        const sentence = marked(said(entry));
        return (
          <>
            <strong>{marked(entry.actor_name ?? entry.actor)}</strong>{" "}
            {shown === undefined ? sentence : <a href={`/console/${slug}/${shown}`}>{sentence}</a>}
          </>
        );
      },
    },
    {
      name: words.change,
      kind: "text",
      cell: (entry) => <Difference before={entry.before} after={entry.after} />,
    },
  ];
  return (
    <>
      <h1>{text.pages.audit}</h1>
      <form class="chips" aria-label={text.decisions.filters.title}>
        <label class={kind ? "chip set" : "chip"}>
          {words.kind}{" "}
          <select
            value={kind}
            onChange={(event) => {
              setFilters({ kind: event.currentTarget.value });
            }}
          >
            {KINDS.map(([value, name]) => (
              <option value={value} key={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </form>
      <Listing
        label={text.pages.audit}
        queryKey={["audit", tenant_id, query]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/audit", {
              params: { path: { tenant_id }, query: { ...query, ...pageQuery(cursor) } },
            }),
          )
        }
        columns={columns}
        keyOf={(entry) => entry.audit_id}
        empty={<p class="card empty">{words.empty}</p>}
      />
    </>
  );
}
