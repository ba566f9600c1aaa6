/** The decisions: who was stopped? */

import { api, body, type Schemas } from "../../api/client";
import { bounds, filters, setFilters } from "../../frame/place";
import { Begin } from "../../recorded/begin";
import { useDecisionColumns } from "../../recorded/decision-rows";
import { useTenant } from "../../frame/session";
import { Listing, pageQuery } from "../../parts/table";
import { text } from "../../text/en";

const words = text.decisions;
type Row = Schemas["DecisionSummary"];

export default function DecisionsPage() {
  const { tenant_id } = useTenant();
  const columns = useDecisionColumns();
  const given = filters.value;
  // In the body of a call, so that request logs don't contain the filters.
  const asked: Schemas["DecisionSearch"] = {
    ...bounds(),
    time: "received",
    ...optional("action", given.get("action") as Row["action"] | null),
    ...optional("reason", given.get("reason") as Row["reason"] | null),
    ...optional("path", given.get("path")),
    ...optional("client_ip", given.get("address")),
    ...optional("method", given.get("method")),
    ...optional("policy_id", given.get("policy")),
    ...optional("entity_id", given.get("entity")),
  };
  return (
    <>
      <h1>{text.pages.decisions}</h1>
      <Filters />
      <Listing<Row>
        label={text.pages.decisions}
        queryKey={["decisions", tenant_id, asked]}
        ask={async (cursor) => {
          const found = await body(
            api.POST("/api/v1/tenants/{tenant_id}/decisions/search", {
              params: { path: { tenant_id } },
              body: { ...asked, ...pageQuery(cursor) },
            }),
          );
          return { rows: found.decisions, next: found.cursor };
        }}
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
      {(["path", "address", "method"] as const).map((name) => (
        <label key={name}>
          {words.filters[name]}{" "}
          <input
            value={given.get(name) ?? ""}
            onChange={(event) => {
              setFilters({ [name]: event.currentTarget.value });
            }}
          />
        </label>
      ))}
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
      <Begin />
    </div>
  );
}
