/** Answers over time: stacked bars, or the same as a table. */

import { useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { text } from "../text/en";
import { Moment } from "./moment";

const KINDS = ["allow", "challenge", "block"] as const;
const WIDTH = 600;
const HEIGHT = 120;

type Step = Schemas["TimelineStep"];

export function Counts({ steps }: { steps: readonly Step[] }) {
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      {asTable ? <CountsTable steps={steps} /> : <Bars steps={steps} />}
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

function Bars({ steps }: { steps: readonly Step[] }) {
  const most = Math.max(1, ...steps.map((step) => step.total));
  const width = WIDTH / Math.max(1, steps.length);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text.overview.counts}
    >
      {steps.map((step, number) => {
        let top = HEIGHT;
        return KINDS.map((kind) => {
          const height = (step[kind] / most) * HEIGHT;
          top -= height;
          return (
            <rect class={kind} x={number * width} y={top} width={width * 0.85} height={height} />
          );
        });
      })}
    </svg>
  );
}

function CountsTable({ steps }: { steps: readonly Step[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={text.overview.counts}>
      <table>
        <thead>
          <tr>
            <th scope="col">{text.decisions.columns.time}</th>
            <th scope="col" class="number">
              {text.overview.total}
            </th>
            {KINDS.map((kind) => (
              <th scope="col" class="number">
                {text.actions[kind]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps
            .filter((step) => step.total > 0)
            .map((step) => (
              <tr>
                <td>
                  <Moment at={step.start} />
                </td>
                <td class="number">{step.total}</td>
                {KINDS.map((kind) => (
                  <td class="number">{step[kind]}</td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}
