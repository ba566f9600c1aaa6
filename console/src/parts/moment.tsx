/** A time in the reader's zone, without the day if it is today; in UTC on hover. */

const TODAY = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const OTHER = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function Moment({ at }: { at: string }) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  return (
    <time dateTime={at} title={at}>
      {(isToday ? TODAY : OTHER).format(time)}
    </time>
  );
}
