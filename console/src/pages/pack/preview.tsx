/** The changes that a step of a pack would make, before it is made. */

import type { Schemas } from "../../api/client";
import { Difference } from "../../parts/difference";
import { Foreign } from "../../parts/foreign";
import { Table } from "../../parts/table";
import { Warnings } from "../../parts/warnings";
import { text } from "../../text/en";
import type { Matched } from "./steps";

const words = text.packs;
type Changes = Schemas["PackChanges"];

export function Preview({ of, matched }: { of: Changes; matched: readonly Matched[] }) {
  return (
    <>
      {matched.length > 0 && <Slots rows={matched} />}
      <Differences title={words.changes(of.changes.length)} rows={of.changes} />
      {of.yours.length > 0 && <Differences title={words.yours} rows={of.yours} />}
      {of.conflicts.length > 0 && (
        <>
          <h3>{words.conflicts}</h3>
          <Table
            label={words.conflicts}
            rows={of.conflicts}
            keyOf={(row) => row.place}
            columns={[
              { name: words.place, kind: "text", cell: (row) => <Foreign text={row.place} /> },
              { name: words.yourValue, kind: "text", cell: (row) => <Value of={row.yours} /> },
              { name: words.packValue, kind: "text", cell: (row) => <Value of={row.pack} /> },
            ]}
          />
        </>
      )}
      <Warnings of={of.warnings} title={words.warnings} />
    </>
  );
}

function Differences({ title, rows }: { title: string; rows: Changes["changes"] }) {
  return (
    <>
      <h3>{title}</h3>
      {rows.length > 0 && (
        <Table
          label={title}
          rows={rows}
          keyOf={(row) => row.place}
          columns={[
            { name: words.place, kind: "text", cell: (row) => <Foreign text={row.place} /> },
            {
              name: words.change,
              kind: "text",
              cell: (row) => <Difference before={row.before} after={row.after} />,
            },
          ]}
        />
      )}
    </>
  );
}

function Slots({ rows }: { rows: readonly Matched[] }) {
  return (
    <>
      <h3>{words.matched}</h3>
      {rows.every((row) => row.looked_at === 0) ? (
        <p>{words.noTraffic}</p>
      ) : (
        <Table
          label={words.matched}
          rows={rows}
          keyOf={(row) => row.slot}
          columns={[
            { name: words.slot, cell: (row) => <code>{row.slot}</code> },
            {
              name: words.events,
              kind: "number",
              cell: (row) => words.of(row.matched, row.looked_at),
            },
          ]}
        />
      )}
    </>
  );
}

function Value({ of }: { of: unknown }) {
  return <Foreign text={typeof of === "string" ? of : JSON.stringify(of)} />;
}
