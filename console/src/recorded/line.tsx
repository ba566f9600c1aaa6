/** One series of a timeline, small enough for a table cell. */

import type { Schemas } from "../api/client";
import { Bars } from "../parts/plot-or-table";
import { text } from "../text/en";

export function Line(props: { name: string; steps: readonly Schemas["TimelineStep"][] }) {
  const counts = props.steps.map((step) => step.series?.[props.name] ?? 0);
  const most = Math.max(0, ...counts);
  return (
    <Bars
      small
      label={text.overview.most(most)}
      bars={counts.map((count) => [["matched", count]])}
      most={most}
    />
  );
}
