/** Decisions as table rows: the request and the answer. */

import type { Schemas } from "../api/client";
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
    { name: words.reason, cell: (row) => text.reasons[row.reason] },
    {
      name: words.policy,
      kind: "text",
      cell: (row) =>
        row.policy_id === null
          ? ""
          : [names.get(row.policy_id) ?? row.policy_id, row.clause ?? ""]
              .filter(Boolean)
              .map(marked)
              .join(", "),
    },
    {
      name: words.path,
      kind: "text",
      cell: (row) => (
        <>
          <Foreign text={`${row.method ?? ""} ${row.path ?? ""}`} />
          {row.damaged && ` (${words.damaged})`}
        </>
      ),
    },
    { name: words.address, cell: (row) => <Foreign text={row.client_ip ?? ""} /> },
    {
      name: words.agent,
      kind: "text",
      cell: (row) => <Foreign text={(row.user_agent ?? "").slice(0, 60)} />,
    },
  ];
}

export function DecisionRows({ label, rows }: { label: string; rows: readonly Row[] }) {
  const columns = useDecisionColumns();
  return <Table label={label} rows={rows} columns={columns} keyOf={(row) => row.decision_id} />;
}
