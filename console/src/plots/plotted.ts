/** A plot over time on a canvas, by uPlot. It is loaded when the first plot is shown. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "../style/plot.css";
import { heightsOf, type Drawn, type SeriesName } from "./heights";

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact" });
const COUNT = new Intl.NumberFormat();
const SHARE = new Intl.NumberFormat(undefined, { style: "percent" });
const WHOLE = [1, 2, 5].flatMap((each) =>
  Array.from({ length: 10 }, (_, zeros) => each * 10 ** zeros),
);
const SECONDS_A_DAY = 86_400;
/** Distances of times on the axis, in seconds, so that two of them never read the same. */
const TIMES = [1, 2, 5, 10, 15, 30]
  .map((minutes) => minutes * 60)
  .concat([1, 2, 3, 6, 12].map((hours) => hours * 3_600))
  .concat([1, 2, 7, 14, 28, 91, 364].map((days) => days * SECONDS_A_DAY));
const FONT = "11px system-ui, sans-serif";

/** Draws a plot into an empty element, and follows its size and the theme.
 *
 * @returns a function that takes the plot away.
 */
export function draw(into: HTMLElement, drawn: Drawn): () => void {
  const colour = colours(into);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const plot = new uPlot(optionsOf(into, drawn, colour, tip), dataOf(drawn), into);
  plot.over.append(tip);
  plot.over.addEventListener("click", () => {
    const at = indexAt(plot, drawn);
    if (at !== null) drawn.onPick?.(at);
  });
  const redraw = (): void => {
    plot.redraw(true, true);
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", redraw);
  const theme = new MutationObserver(redraw);
  theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const size = new ResizeObserver(() => {
    plot.setSize({ width: into.clientWidth, height: into.clientHeight });
  });
  size.observe(into);
  return () => {
    system.removeEventListener("change", redraw);
    theme.disconnect();
    size.disconnect();
    plot.destroy();
    into.replaceChildren();
  };
}

type Colour = (name: string) => string;

/** The colours of the theme, as a canvas takes them. */
function colours(into: HTMLElement): Colour {
  const probe = document.createElement("i");
  into.append(probe);
  return (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
}

function dataOf(drawn: Drawn): uPlot.AlignedData {
  return [[...drawn.starts], ...heightsOf(drawn).map((each) => [...each.heights])];
}

function optionsOf(
  into: HTMLElement,
  drawn: Drawn,
  colour: Colour,
  tip: HTMLElement,
): uPlot.Options {
  const { starts, step, scale } = drawn;
  const first = starts[0] ?? 0;
  const end = (starts.at(-1) ?? first) + step;
  return {
    width: into.clientWidth,
    height: into.clientHeight,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { range: () => [first, end] }, y: yScale(drawn) },
    axes: [
      axis(colour, {
        size: 28,
        space: 72,
        incrs: TIMES.filter((each) => each >= step),
        values: (_, splits) => splits.map(timeAt),
      }),
      axis(colour, {
        size: 52,
        ...(scale === "count" ? { incrs: WHOLE } : {}),
        values: (_, splits) =>
          splits.map((each) => (scale === "share" ? SHARE : COMPACT).format(each)),
      }),
    ],
    series: [{}, ...heightsOf(drawn).map(({ name }) => seriesOf(name, scale, colour))],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width === 0) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          drawn.onRange?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        },
      ],
      setCursor: [
        (plot) => {
          showTip(plot, drawn, tip);
        },
      ],
      draw: [
        (plot) => {
          drawMarks(plot, drawn, colour);
        },
      ],
    },
  };
}

function yScale({ scale }: Drawn): uPlot.Scale {
  if (scale === "share") return { range: () => [0, 1] };
  if (scale === "log")
    // The enum of uPlot's types has no values at run time.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
    return { distr: 3, range: (_, __, most) => [1, Math.max(10, most * 1.2)] };
  return { range: (_, __, most) => [0, Math.max(1, most * 1.05)] };
}

function axis(colour: Colour, of: uPlot.Axis): uPlot.Axis {
  const line = { stroke: () => colour("line"), width: 1 };
  return { font: FONT, stroke: () => colour("muted"), grid: line, ticks: { show: false }, ...of };
}

function seriesOf(name: SeriesName, scale: Drawn["scale"], colour: Colour): uPlot.Series {
  const own = (): string => colour(`plot-${name}`);
  const paths =
    scale === "log"
      ? uPlot.paths.stepped?.({ align: 1 })
      : uPlot.paths.bars?.({ size: [1, Infinity], align: 1, gap: 1 });
  return {
    ...(scale === "log" ? { stroke: own, width: 2 } : { fill: own, width: 0 }),
    ...(paths && { paths }),
    points: { show: false },
  };
}

/** A time on the axis: the day at midnight, else the time of day. */
function timeAt(seconds: number): string {
  const at = new Date(seconds * 1_000);
  return at.getHours() === 0 && at.getMinutes() === 0 ? DAY.format(at) : TIME.format(at);
}

/** The step under the pointer. */
function indexAt(plot: uPlot, { starts, step }: Drawn): number | null {
  const { left } = plot.cursor;
  const first = starts[0];
  if (left === undefined || left < 0 || first === undefined) return null;
  const at = Math.floor((plot.posToVal(left, "x") - first) / step);
  return at >= 0 && at < starts.length ? at : null;
}

function showTip(plot: uPlot, drawn: Drawn, tip: HTMLElement): void {
  const at = indexAt(plot, drawn);
  tip.hidden = at === null;
  if (at === null) return;
  const start = drawn.starts[at] ?? 0;
  const end = start + drawn.step;
  const until = drawn.step < SECONDS_A_DAY ? TIME : MOMENT;
  tip.replaceChildren(
    line("strong", `${MOMENT.format(start * 1_000)} – ${until.format(end * 1_000)}`),
    ...[...drawn.series].reverse().map(({ name, label, shape, counts }) => {
      const row = line("div", `${label} ${COUNT.format(counts[at] ?? 0)}`);
      row.prepend(sign(name, shape));
      return row;
    }),
    ...drawn.marks
      .filter((each) => each.at >= start && each.at < end)
      .map(({ label }) => line("div", `┆ ${label}`)),
  );
  const left = plot.cursor.left ?? 0;
  const most = plot.over.clientWidth - tip.offsetWidth;
  const place = left + 12 > most ? left - tip.offsetWidth - 12 : left + 12;
  tip.style.left = `${Math.max(0, Math.min(place, most))}px`;
}

function line(tag: string, content: string): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = content;
  return made;
}

function sign(name: SeriesName, shape: string): HTMLElement {
  const made = line("span", `${shape} `);
  made.style.color = `var(--plot-${name})`;
  return made;
}

/** A dashed line where something was changed. */
function drawMarks(plot: uPlot, { marks }: Drawn, colour: Colour): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("text");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  for (const { at } of marks) {
    const x = Math.round(plot.valToPos(at, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.restore();
}
