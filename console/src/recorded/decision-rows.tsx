/** Decisions as table rows: the request and the answer. */

import type { Schemas } from "../api/client";
import { agentOf } from "../format/agent";
import { Badge } from "../parts/badge";
import { Foreign, marked } from "../parts/foreign";
import { Moment } from "../parts/moment";
import { Table, type Column } from "../parts/table";
import { text } from "../text/en";
import { usePolicyNames } from "../definitions/objects";
import { useTenant } from "../frame/session";

const words = text.decisions.columns;
type Row = Schemas["DecisionSummary"];

/** The columns of a list of decisions. */
export function useDecisionColumns(): readonly Column<Row>[] {
  const { slug } = useTenant();
  const names = usePolicyNames();
  return [
    {
      name: words.time,
      cell: (row) => (
        <a href={`/console/${slug}/decisions/${row.decision_id}`}>
          <Moment at={row.received_at} />
        </a>
      ),
    },
    { name: words.action, cell: (row) => <Badge answer={row.action} /> },
    {
      name: words.policy,
      kind: "text",
      cell: (row) => <Cause row={row} policy={names.get(row.policy_id ?? "") ?? row.policy_id} />,
    },
    {
      name: words.path,
      kind: "line",
      cell: (row) => (
        <span title={marked(row.path ?? "")}>
          <Foreign text={`${row.method ?? ""} ${row.path ?? ""}`} />
          {row.damaged && ` (${words.damaged})`}
        </span>
      ),
    },
    {
      name: words.address,
      kind: "address",
      cell: (row) => <Foreign text={row.client_ip ?? ""} />,
    },
    {
      name: words.agent,
      cell: (row) => (
        <bdi title={marked(row.user_agent ?? "")}>{marked(agentOf(row.user_agent ?? ""))}</bdi>
      ),
    },
  ];
}

/** The policy and clause of a decision, and the reason if it is another one. */
function Cause({ row, policy }: { row: Row; policy: string | null }) {
  const reason = text.reasons[row.reason];
  if (policy === null) return <span class="quiet">{reason}</span>;
  return (
    <>
      {marked(policy)}{" "}
      <span class="quiet">
        {[row.clause === null ? "" : marked(row.clause), row.reason === "policy" ? "" : reason]
          .filter(Boolean)
          .join(" · ")}
      </span>
    </>
  );
}

export function DecisionRows({ label, rows }: { label: string; rows: readonly Row[] }) {
  const columns = useDecisionColumns();
  return <Table label={label} rows={rows} columns={columns} keyOf={(row) => row.decision_id} />;
}
