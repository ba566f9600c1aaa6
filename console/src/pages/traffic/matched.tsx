/** The matching events, over time and as samples. */

import type { Schemas } from "../../api/client";
import { DecisionRows } from "../../recorded/decision-rows";
import { Moment } from "../../parts/moment";
import { Bars, PlotOrTable } from "../../parts/plot-or-table";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.traffic;
type Found = Schemas["TrafficFound"];

export function Matched({ match }: { match: Found }) {
  return (
    <>
      <section class="card" aria-labelledby="over-time">
        <h2 id="over-time">{words.overTime}</h2>
        <Timeline steps={match.timeline} />
      </section>
      <section class="card" aria-labelledby="samples">
        <h2 id="samples">{words.samples}</h2>
        {match.samples.length === 0 ? (
          <p>{words.none}</p>
        ) : (
          <DecisionRows label={words.samples} rows={match.samples} />
        )}
      </section>
    </>
  );
}

function Timeline({ steps }: { steps: Found["timeline"] }) {
  return (
    <PlotOrTable
      plot={() => (
        <Bars
          label={words.overTime}
          bars={steps.map((step) => [
            ["matched", step.matched],
            ["looked_at", step.looked_at - step.matched],
          ])}
          most={Math.max(...steps.map((step) => step.looked_at))}
        />
      )}
      table={() => (
        <Table
          label={words.overTime}
          rows={steps.filter((step) => step.looked_at > 0)}
          keyOf={(step) => step.start}
          columns={[
            { name: text.decisions.columns.time, cell: (step) => <Moment at={step.start} /> },
            { name: words.matched, kind: "number", cell: (step) => step.matched },
            { name: words.lookedAt, kind: "number", cell: (step) => step.looked_at },
          ]}
        />
      )}
    />
  );
}
