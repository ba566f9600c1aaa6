/** Alerts: what is watched, what fires now, and who gets the messages. */

import { useMutation } from "@tanstack/preact-query";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Confirm } from "../../parts/confirm";
import { Copy } from "../../parts/copy";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";
import { NewAlert } from "./form";

const words = text.alerts;
type Row = Schemas["Alert"];

const COLUMNS: readonly Column<Row>[] = [
  { name: words.name, kind: "text", cell: (row) => marked(row.name) },
  { name: words.metric, cell: (row) => words.metrics[row.metric] },
  { name: words.condition, kind: "text", cell: (row) => words.says(row) },
  { name: words.state, cell: (row) => <State row={row} /> },
  { name: words.destinations, kind: "text", cell: (row) => <Destinations row={row} /> },
  { name: words.change, cell: (row) => <Changes row={row} /> },
];

export default function AlertsPage() {
  const { tenant_id } = useTenant();
  return (
    <>
      <h1>{text.pages.alerts}</h1>
      <p>{words.about}</p>
      <NewAlert />
      <Listing
        label={text.pages.alerts}
        queryKey={["alerts", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/alerts", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={COLUMNS}
        keyOf={(row) => row.alert_id}
        empty={<p class="card">{words.empty}</p>}
      />
    </>
  );
}

function State({ row }: { row: Row }) {
  if (row.firing_since !== null) {
    return (
      <strong>
        {words.states.firing} <Moment at={row.firing_since} />
      </strong>
    );
  }
  if (!row.enabled) return <>{words.states.disabled}</>;
  return <>{row.evaluated ? words.states.ok : words.off}</>;
}

function Destinations({ row }: { row: Row }) {
  return (
    <>
      {row.destinations.map(({ kind, to }) => {
        const secret = row.signing_secrets[to];
        return (
          <div key={kind + to}>
            {words.kinds[kind]} {marked(to)}{" "}
            {secret !== undefined && (
              <div>
                {words.secret} <Copy value={secret} what={words.secret} />
              </div>
            )}
          </div>
        );
      })}
      {row.messages_waiting > 0 && (
        <div>
          {words.waiting(row.messages_waiting)}{" "}
          {row.delivery_error !== null && marked(row.delivery_error)}
        </div>
      )}
      {row.messages_dropped > 0 && <div>{words.dropped(row.messages_dropped)}</div>}
    </>
  );
}

function Changes({ row }: { row: Row }) {
  const { tenant_id } = useTenant();
  const refusal = useRefusal("Admin");
  const path = { tenant_id, alert_id: row.alert_id };
  const onSettled = () => queries.invalidateQueries({ queryKey: ["alerts", tenant_id] });
  const change = useMutation({
    mutationFn: () =>
      body(
        api.PATCH("/api/v1/tenants/{tenant_id}/alerts/{alert_id}", {
          params: { path },
          headers: { "if-match": `"${row.revision}"` },
          body: { enabled: !row.enabled },
        }),
      ),
    onSettled,
  });
  const remove = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/tenants/{tenant_id}/alerts/{alert_id}", { params: { path } }),
    onSettled,
  });
  const error = change.error ?? remove.error;
  return (
    <span class="row">
      {error && <ProblemPanel error={error} />}
      <button
        type="button"
        disabled={change.isPending}
        onClick={() => {
          change.mutate();
        }}
      >
        {row.enabled ? words.disable : words.enable} <span class="hidden">{marked(row.name)}</span>
      </button>
      <Confirm
        label={`${words.remove} ${marked(row.name)}`}
        question={words.sure}
        refusal={refusal}
        onConfirm={() => {
          remove.mutate();
        }}
      />
    </span>
  );
}
