/** Who was stopped? */

import { api, page, type Schemas } from "../../api/client";
import { filters, range, setFilters, since } from "../../frame/place";
import { usePolicyNames } from "../../frame/objects";
import { useTenant } from "../../frame/session";
import { Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.decisions;
type Row = Schemas["DecisionSummary"];

export default function DecisionsPage() {
  const { tenant_id, slug } = useTenant();
  const names = usePolicyNames();
  const given = filters.value;
  const query = {
    since: since(range.value, Date.now()),
    ...optional("action", given.get("action") as Row["action"] | null),
    ...optional("reason", given.get("reason") as Row["reason"] | null),
    ...optional("path", given.get("path")),
    ...optional("policy_id", given.get("policy")),
    ...optional("entity_id", given.get("entity")),
  };
  const columns: readonly Column<Row>[] = [
    {
      name: words.columns.time,
      cell: (row) => (
        <a href={`/console/${slug}/decisions/${row.decision_id}`}>
          <Moment at={row.received_at} />
        </a>
      ),
    },
    { name: words.columns.action, cell: (row) => <Badge answer={row.action} /> },
    { name: words.columns.reason, cell: (row) => text.reasons[row.reason] },
    {
      name: words.columns.policy,
      kind: "text",
      cell: (row) =>
        row.policy_id === null ? "" : marked(names.get(row.policy_id) ?? row.policy_id),
    },
    { name: words.columns.path, kind: "text", cell: (row) => <Foreign text={row.path ?? ""} /> },
  ];
  return (
    <>
      <h1>{text.pages.decisions}</h1>
      <Filters />
      <Listing
        label={text.pages.decisions}
        queryKey={["decisions", tenant_id, query]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/decisions", {
              params: { path: { tenant_id }, query: { ...query, ...pageQuery(cursor) } },
            }),
          )
        }
        columns={columns}
        keyOf={(row) => row.decision_id}
        empty={<Empty />}
      />
    </>
  );
}

function optional<N extends string, T>(name: N, value: T | null | ""): Partial<Record<N, T>> {
  return (value ? { [name]: value } : {}) as Partial<Record<N, T>>;
}

function Filters() {
  const given = filters.value;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <Choice name="action" label={words.filters.action} of={["allow", "challenge", "block"]} />
      <Choice name="reason" label={words.filters.reason} of={Object.keys(text.reasons)} />
      <label>
        {words.filters.path}{" "}
        <input
          value={given.get("path") ?? ""}
          onChange={(event) => {
            setFilters({ path: event.currentTarget.value });
          }}
        />
      </label>
    </form>
  );
}

function Choice(props: { name: string; label: string; of: readonly string[] }) {
  return (
    <label>
      {props.label}{" "}
      <select
        value={filters.value.get(props.name) ?? ""}
        onChange={(event) => {
          setFilters({ [props.name]: event.currentTarget.value });
        }}
      >
        <option value="">{words.filters.any}</option>
        {props.of.map((each) => (
          <option value={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

function Empty() {
  return (
    <div class="card">
      <p>{words.empty}</p>
      <p>{words.teach}</p>
      <pre>{`curl -s ${location.origin}/api/v1/runtime/mitigation \\
  -H 'x-service-api-key: …' -H 'content-type: application/json' \\
  -d '{"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.7"}}'`}</pre>
    </div>
  );
}
