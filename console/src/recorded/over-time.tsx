/** Decisions over time, in a plot that sets the time range and leads to the decisions of a step. */

import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { period, setFilters } from "../frame/place";
import { iso } from "../frame/ranges";
import { useTenant } from "../frame/session";
import { SHAPES } from "../parts/badge";
import type { Mark, Series } from "../plots/heights";
import { Plot } from "../plots/plot";
import { text } from "../text/en";

interface Step {
  start: string;
  allow: number;
  challenge: number;
  block: number;
  monitor?: number;
}

/** The series of answers, from the bottom of the stack.
 *
 * A decision that is only monitored counts as allowed, too; one of a policy doesn't.
 */
function answersOf(steps: readonly Step[], isOfPolicy: boolean): Series[] {
  const monitored = ({ monitor = 0, allow }: Step): number =>
    isOfPolicy ? monitor : Math.min(monitor, allow);
  const named = (name: keyof typeof SHAPES, count: (step: Step) => number): Series => ({
    name,
    label: text.actions[name],
    shape: SHAPES[name],
    counts: steps.map(count),
  });
  return [
    named("allow", (step) => step.allow - (isOfPolicy ? 0 : monitored(step))),
    ...(steps.some((step) => monitored(step) > 0) ? [named("monitor", monitored)] : []),
    named("challenge", (step) => step.challenge),
    named("block", (step) => step.block),
  ];
}

export function OverTime(props: {
  label: string;
  steps: readonly { start: string }[];
  series: readonly Series[];
  marks?: readonly Mark[];
  /** Filters of the decisions that are counted, as in the address of their list. */
  filters?: Readonly<Record<string, string>>;
  children?: ComponentChildren;
}) {
  const { slug } = useTenant();
  const { route } = useLocation();
  const starts = props.steps.map((each) => Date.parse(each.start) / 1_000);
  const step = starts.length > 1 ? (starts[1] ?? 0) - (starts[0] ?? 0) : period.value.step;
  const hrefOf = (at: number): string => {
    const start = (starts[at] ?? 0) * 1_000;
    const of = { ...props.filters, from: iso(start), to: iso(start + step * 1_000) };
    return `/console/${slug}/decisions#${new URLSearchParams(of).toString()}`;
  };
  return (
    <Plot
      label={props.label}
      starts={starts}
      step={step}
      series={props.series}
      marks={props.marks ?? []}
      hrefOf={hrefOf}
      onPick={(at) => {
        route(hrefOf(at));
      }}
      onRange={(from, to) => {
        setFilters({ range: "", from: iso(from * 1_000), to: iso(to * 1_000) });
      }}
    >
      {props.children}
    </Plot>
  );
}

/** Decisions over time, by answer. */
export function Answers(props: {
  steps: readonly Step[];
  marks?: readonly Mark[];
  filters?: Readonly<Record<string, string>>;
  /** Whether the steps count what one policy did. */
  isOfPolicy?: boolean;
  children?: ComponentChildren;
}) {
  const { marks = [], isOfPolicy = false, ...rest } = props;
  const words = text.overview;
  return (
    <OverTime
      {...rest}
      marks={marks}
      label={marks.length > 0 ? words.marked(marks.length) : words.counts}
      series={answersOf(props.steps, isOfPolicy)}
    />
  );
}
