/** Selects the time range: one that ends now, or one between two times. */

import { text } from "../text/en";
import { end, filters, period, setFilters } from "./place";
import { DEFAULT_RANGE, iso, RANGES, type RangeName } from "./ranges";

const words = text.frame;
const OWN = "own";

export function RangeSwitch() {
  const { since, until } = period.value;
  const named = filters.value.get("range");
  const chosen = named !== null && named in RANGES ? (named as RangeName) : DEFAULT_RANGE;
  const choose = (name: string): void => {
    if (name === OWN) setFilters({ range: "", from: since, to: iso(end()) });
    else setFilters({ range: name, from: "", to: "" });
  };
  return (
    <label class="push">
      <span class="hidden">{words.range}</span>
      <select
        value={until === null ? chosen : OWN}
        onChange={(event) => {
          choose(event.currentTarget.value);
        }}
      >
        {Object.entries(RANGES).map(([name, each]) => (
          <option value={name}>{each.label}</option>
        ))}
        <option value={OWN}>{words.own}</option>
      </select>
    </label>
  );
}

/** The two times of a range that doesn't end now. */
export function OwnRange() {
  const { since, until } = period.value;
  if (until === null) return null;
  return (
    <div class="own-range">
      <Time name="from" at={since} />
      <Time name="to" at={until} />
    </div>
  );
}

/** A time in the reader's zone; the address uses UTC. */
function Time({ name, at }: { name: "from" | "to"; at: string }) {
  return (
    <label>
      {words[name]}{" "}
      <input
        type="datetime-local"
        step="1"
        required
        value={localOf(at)}
        onChange={(event) => {
          const typed = Date.parse(event.currentTarget.value);
          if (!Number.isNaN(typed)) setFilters({ [name]: iso(typed) });
        }}
      />
    </label>
  );
}

function localOf(at: string): string {
  const time = new Date(at);
  return iso(time.getTime() - time.getTimezoneOffset() * 60_000).slice(0, 19);
}
