/** The contents of a plot: series over time, and how high each is drawn. */

export type SeriesName = "allow" | "monitor" | "challenge" | "block" | "matched" | "looked_at";
export type Scale = "count" | "share" | "log";

export interface Series {
  name: SeriesName;
  label: string;
  /** Stands for the series where colour alone would. */
  shape: string;
  /** One count for each step. */
  counts: readonly number[];
}

export interface Mark {
  /** Seconds since 1970. */
  at: number;
  label: string;
}

export interface Drawn {
  /** The start of each step, in seconds since 1970. */
  starts: readonly number[];
  /** Seconds per step. */
  step: number;
  /** From the bottom of the stack. */
  series: readonly Series[];
  scale: Scale;
  marks: readonly Mark[];
  /** A selected range, in seconds since 1970. */
  onRange?: (from: number, to: number) => void;
  /** A step that was clicked, by its place. */
  onPick?: (at: number) => void;
}

export interface Heights {
  name: SeriesName;
  heights: readonly (number | null)[];
}

/** The height of each series, in the order in which they are drawn.
 *
 * Stacked ones come from the top of the stack, each with all that stands below it, so that the
 * lower ones are drawn over it. On a logarithmic scale nothing is stacked, and zeros are left out.
 */
export function heightsOf({ series, scale }: Pick<Drawn, "series" | "scale">): Heights[] {
  if (scale === "log")
    return series.map(({ name, counts }) => ({
      name,
      heights: counts.map((count) => (count > 0 ? count : null)),
    }));
  const totals = series[0]?.counts.map((_, at) => sumOf(series, at)) ?? [];
  return series
    .map(({ name, counts }, place) => ({
      name,
      heights: counts.map((_, at) => {
        const height = sumOf(series.slice(0, place + 1), at);
        return scale === "share" ? height / Math.max(1, totals[at] ?? 0) : height;
      }),
    }))
    .reverse();
}

function sumOf(series: readonly Series[], at: number): number {
  return series.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0);
}
