/** Answers over time, as stacked bars or a table. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";
import { Moment } from "./moment";
import { Bars, PlotOrTable, roomFor } from "./plot-or-table";
import { Table } from "./table";

const KINDS = ["allow", "challenge", "block"] as const;
const words = text.overview;

type Step = Schemas["AnswerStep"];

export function Counts(props: {
  steps: readonly Step[];
  /** Times of changes, to mark in the plot. */
  changes?: readonly string[];
}) {
  const { steps } = props;
  const label = props.changes?.length ? words.marked(props.changes.length) : words.counts;
  return (
    <PlotOrTable
      plot={() => (
        <Bars
          label={label}
          marks={(props.changes ?? []).map((at) => shareOf(steps, at))}
          bars={steps.map((step) => KINDS.map((kind) => [kind, step[kind]]))}
          most={Math.max(...steps.map((step) => step.total))}
        />
      )}
      table={() => (
        <Table
          label={words.counts}
          rows={steps.filter((step) => step.total > 0)}
          keyOf={(step) => step.start}
          columns={[
            { name: text.decisions.columns.time, cell: (step) => <Moment at={step.start} /> },
            { name: words.total, kind: "number", cell: (step) => step.total },
            ...KINDS.map((kind) => ({
              name: text.actions[kind],
              kind: "number" as const,
              cell: (step: Step) => step[kind],
            })),
          ]}
        />
      )}
    />
  );
}

/** The position of a time in the plot, from 0 to 1. */
function shareOf(steps: readonly Step[], at: string): number {
  const [first, second] = steps.map((step) => Date.parse(step.start));
  if (first === undefined || second === undefined) return 0;
  return (Date.parse(at) - first) / ((second - first) * roomFor(steps));
}
