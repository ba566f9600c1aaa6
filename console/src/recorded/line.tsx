/** One series of a timeline, small enough for a table cell. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";

const WIDTH = 600;
const HEIGHT = 120;
/** The fewest bars that a row has room for, so that a single bar doesn't fill it. */
const LEAST_BARS = 24;

export function Line(props: { name: string; steps: readonly Schemas["TimelineStep"][] }) {
  const counts = props.steps.map((step) => step.series?.[props.name] ?? 0);
  const most = Math.max(0, ...counts);
  const width = WIDTH / Math.max(LEAST_BARS, counts.length);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text.overview.most(most)}
    >
      {counts.map((count, at) => {
        const height = (count / Math.max(1, most)) * HEIGHT;
        return <rect x={at * width} y={HEIGHT - height} width={width * 0.85} height={height} />;
      })}
    </svg>
  );
}
