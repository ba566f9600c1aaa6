/** The decisions: who was stopped? */

import { useEffect, useState } from "preact/hooks";
import { api, body, type Schemas } from "../../api/client";
import { usePolicies } from "../../definitions/objects";
import { bounds, filters, setFilters } from "../../frame/place";
import { Begin } from "../../recorded/begin";
import { useDecisionColumns } from "../../recorded/decision-rows";
import { useTenant } from "../../frame/session";
import { marked } from "../../parts/foreign";
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

const NAMED = ["action", "reason", "policy", "path", "address", "method", "entity"] as const;

function Filters() {
  const given = filters.value;
  const policies = usePolicies().data ?? [];
  return (
    <form
      class="chips"
      aria-label={words.filters.title}
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <Choice
        name="action"
        of={(["allow", "challenge", "block"] as const).map((each) => [each, text.actions[each]])}
      />
      <Choice name="reason" of={Object.entries(text.reasons)} />
      <Choice
        name="policy"
        of={policies.map((each) => [each.policy_id, marked(each.name)] as const)}
      />
      {(["path", "address", "method"] as const).map((name) => (
        <Typed key={name} name={name} />
      ))}
      {NAMED.some((name) => given.get(name)) && (
        <button
          type="button"
          onClick={() => {
            setFilters(Object.fromEntries(NAMED.map((name) => [name, ""])));
          }}
        >
          {words.clear}
        </button>
      )}
    </form>
  );
}

/** A filter that is set once its text is complete. */
function Typed({ name }: { name: "path" | "address" | "method" }) {
  const given = filters.value.get(name) ?? "";
  // What is typed stays while the page loads around it.
  const [typed, setTyped] = useState(given);
  useEffect(() => {
    setTyped(given);
  }, [given]);
  return (
    <label class={given ? "chip set" : "chip"}>
      {words.filters[name]}{" "}
      <input
        placeholder={words.filters.any}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
        }}
        onChange={(event) => {
          setFilters({ [name]: event.currentTarget.value });
        }}
      />
    </label>
  );
}

function Choice(props: {
  name: "action" | "reason" | "policy";
  of: readonly (readonly [string, string])[];
}) {
  const { name } = props;
  const value = filters.value.get(name) ?? "";
  return (
    <label class={value ? "chip set" : "chip"}>
      {words.filters[name]}{" "}
      <select
        value={value}
        onChange={(event) => {
          setFilters({ [name]: event.currentTarget.value });
        }}
      >
        <option value="">{words.filters.any}</option>
        {props.of.map(([each, said]) => (
          <option value={each} key={each}>
            {said}
          </option>
        ))}
      </select>
    </label>
  );
}

function Empty() {
  const isFiltered = NAMED.some((name) => filters.value.get(name));
  return (
    <div class="card empty">
      <p>{words.empty}</p>
      {!isFiltered && <Begin />}
    </div>
  );
}
