/** A time in the reader's zone, and in UTC on hover. */

const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {SHORT.format(new Date(at))}
    </time>
  );
}
