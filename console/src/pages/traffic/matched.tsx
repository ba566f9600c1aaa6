/** What matches, over time and in samples. */

import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { DecisionRows } from "../../frame/decision-rows";
import { Moment } from "../../parts/moment";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.traffic;
const WIDTH = 600;
const HEIGHT = 120;
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
  const [asTable, setAsTable] = useState(false);
  const most = Math.max(1, ...steps.map((step) => step.looked_at));
  // Few steps are bars, too, and no wall.
  const width = WIDTH / Math.max(24, steps.length);
  return (
    <>
      {asTable ? (
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
      ) : (
        <svg
          class="bars"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={words.overTime}
        >
          {steps.map((step, number) =>
            (["looked_at", "matched"] as const).map((name) => {
              const height = (step[name] / most) * HEIGHT;
              const x = number * width;
              return (
                <rect class={name} x={x} y={HEIGHT - height} width={width * 0.85} height={height} />
              );
            }),
          )}
        </svg>
      )}
      <button
        type="button"
        aria-pressed={asTable}
        onClick={() => {
          setAsTable(!asTable);
        }}
      >
        {asTable ? text.frame.asPlot : text.frame.asTable}
      </button>
    </>
  );
}
