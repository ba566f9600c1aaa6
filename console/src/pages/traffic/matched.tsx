/** The matching events, over time and as samples. */

import type { Schemas } from "../../api/client";
import { DecisionRows } from "../../recorded/decision-rows";
import { OverTime } from "../../recorded/over-time";
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

/** Matching events over time, of all that were searched. */
function Timeline({ steps }: { steps: Found["timeline"] }) {
  return (
    <OverTime
      label={words.overTime}
      steps={steps}
      series={[
        {
          name: "matched",
          label: words.matched,
          shape: "■",
          counts: steps.map((step) => step.matched),
        },
        {
          name: "looked_at",
          label: words.notMatched,
          shape: "□",
          counts: steps.map((step) => step.looked_at - step.matched),
        },
      ]}
    />
  );
}
