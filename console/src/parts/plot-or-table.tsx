/** Figures over time, as a plot or a table. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { text } from "../text/en";

export function PlotOrTable(props: {
  plot: () => ComponentChildren;
  table: () => ComponentChildren;
}) {
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      {asTable ? props.table() : props.plot()}
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

const WIDTH = 600;
const HEIGHT = 120;
const LEAST_BARS = 24;

/** The number of bars that a plot has room for, so that a single bar doesn't fill it. */
export function roomFor(bars: readonly unknown[]): number {
  return Math.max(LEAST_BARS, bars.length);
}

/** Stacked bars. */
export function Bars(props: {
  label: string;
  /** The parts of each bar from the bottom, with the class that colours them. */
  bars: readonly (readonly (readonly [string, number])[])[];
  most: number;
  small?: boolean;
  /** The positions of lines over the bars, as fractions of the width. */
  marks?: readonly number[];
}) {
  const width = WIDTH / roomFor(props.bars);
  return (
    <svg
      class={props.small ? "bars small" : "bars"}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={props.label}
    >
      {props.bars.map((parts, number) => {
        let top = HEIGHT;
        return parts.map(([name, value]) => {
          const height = (value / Math.max(1, props.most)) * HEIGHT;
          top -= height;
          return (
            <rect class={name} x={number * width} y={top} width={width * 0.85} height={height} />
          );
        });
      })}
      {props.marks?.map((share) => (
        <line class="mark" x1={share * WIDTH} x2={share * WIDTH} y1={0} y2={HEIGHT} />
      ))}
    </svg>
  );
}
