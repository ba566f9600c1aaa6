/** Series over time: a plot, which is loaded apart, or a table. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { text } from "../text/en";
import type { Drawn, Scale } from "./heights";
import { Moment } from "../parts/moment";
import { Table, type Column } from "../parts/table";

const words = text.plot;
const SCALES: readonly Scale[] = ["count", "share", "log"];

export interface PlotProps extends Omit<Drawn, "scale"> {
  label: string;
  /** The page of a step, for the table. */
  hrefOf?: (at: number) => string;
  /** Controls that stand before the scale. */
  children?: ComponentChildren;
}

export function Plot(props: PlotProps) {
  const [scale, setScale] = useState<Scale>("count");
  const [asTable, setAsTable] = useState(false);
  const isEmpty = props.series.every(({ counts }) => counts.every((count) => count === 0));
  return (
    <>
      <div class="plot-head">
        <Legend series={props.series} />
        <span class="quiet">{words.per(props.step)}</span>
        <span class="push">
          {props.children}
          <span class="row" role="group" aria-label={words.scale}>
            {SCALES.map((each) => (
              <button
                type="button"
                key={each}
                aria-pressed={each === scale}
                onClick={() => {
                  setScale(each);
                }}
              >
                {words.scales[each]}
              </button>
            ))}
          </span>
          <button
            type="button"
            aria-pressed={asTable}
            onClick={() => {
              setAsTable(!asTable);
            }}
          >
            {asTable ? text.frame.asPlot : text.frame.asTable}
          </button>
        </span>
      </div>
      {asTable ? (
        <Figures {...props} />
      ) : isEmpty ? (
        <div class="plot">
          <p class="quiet">{words.empty}</p>
        </div>
      ) : (
        <Canvas {...props} scale={scale} />
      )}
    </>
  );
}

function Legend({ series }: Pick<Drawn, "series">) {
  return (
    <ul class="legend">
      {series.map(({ name, label, shape }) => (
        <li class={name} key={name}>
          <span aria-hidden="true">{shape}</span> {label}
        </li>
      ))}
    </ul>
  );
}

function Canvas(props: Drawn & { label: string }) {
  const into = useRef<HTMLDivElement>(null);
  const { starts, series, scale, marks, step } = props;
  useEffect(() => {
    let remove: (() => void) | null = null;
    let isGone = false;
    void import("./plotted").then(({ draw }) => {
      if (!isGone && into.current) remove = draw(into.current, props);
    });
    return () => {
      isGone = true;
      remove?.();
    };
  }, [JSON.stringify([starts, series, scale, marks, step])]);
  return <div class="plot" ref={into} role="img" aria-label={props.label} />;
}

/** The same figures in rows, with a link to each step's decisions. */
function Figures({ label, starts, series, hrefOf }: PlotProps) {
  const counted = starts.map((start, at) => ({
    start: new Date(start * 1_000).toISOString(),
    at,
    total: series.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0),
  }));
  type Row = (typeof counted)[number];
  const columns: Column<Row>[] = [
    {
      name: text.decisions.columns.time,
      cell: ({ start, at }) =>
        hrefOf ? (
          <a href={hrefOf(at)}>
            <Moment at={start} />
          </a>
        ) : (
          <Moment at={start} />
        ),
    },
    { name: words.total, kind: "number", cell: ({ total }) => total },
    ...series.map((each) => ({
      name: each.label,
      kind: "number" as const,
      cell: ({ at }: Row) => each.counts[at] ?? 0,
    })),
  ];
  return (
    <Table
      label={label}
      rows={counted.filter(({ total }) => total > 0)}
      keyOf={({ start }) => start}
      columns={columns}
    />
  );
}
