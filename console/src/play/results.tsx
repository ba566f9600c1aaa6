/** Decisions, their plot, and the explanation and windows of the chosen event. */

import { useEffect, useRef } from "preact/hooks";
import { Why } from "../pages/decision/why";
import { Badge, SHAPES } from "../parts/badge";
import { Foreign, marked } from "../parts/foreign";
import type { Series } from "../plots/heights";
import { Plot } from "../plots/plot";
import { text as console } from "../text/en";
import { text } from "../text/play";
import type { CountedWindow, DecidedEvent, Evaluation } from "./call";

const SHOWN = 100;
const STEPS = 60;
const ANSWERS = ["allow", "challenge", "block"] as const;

export function Results(props: { of: Evaluation; onChoose: (place: number) => void }) {
  const { events, findings, trace, windows, chosen = 0 } = props.of;
  if (findings.some(({ severity }) => severity === "error"))
    return <p class="quiet">{text.refused}</p>;
  if (events.length === 0) return <p class="quiet">{text.noEvents}</p>;
  return (
    <>
      <Decisions events={events} chosen={chosen} onChoose={props.onChoose} />
      <h2>{text.explanation}</h2>
      {trace ? (
        <Why explanation={{ reproduced: true, because: [], trace }} isPlain />
      ) : (
        <p>{marked(events[chosen]?.error ?? "")}</p>
      )}
      <h2>{text.windows}</h2>
      {windows.length === 0 && <p class="quiet">{text.noWindows}</p>}
      {windows.map((each) => (
        <Counted key={`${each.policy} ${each.clause}`} of={each} />
      ))}
      {events.length > 1 && <OverTime events={events} />}
    </>
  );
}

function Decisions(props: {
  events: readonly DecidedEvent[];
  chosen: number;
  onChoose: (place: number) => void;
}) {
  const { events, chosen } = props;
  const end = Math.min(events.length, Math.max(chosen + 10, SHOWN));
  const begin = Math.max(0, end - SHOWN);
  const { columns } = text;
  const region = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const row = region.current?.querySelector<HTMLElement>("[aria-current]");
    if (!region.current || !row) return;
    const { scrollTop, clientHeight } = region.current;
    const isShown =
      row.offsetTop >= scrollTop && row.offsetTop + row.offsetHeight <= scrollTop + clientHeight;
    if (!isShown) region.current.scrollTop = row.offsetTop - clientHeight / 2;
  }, [chosen, begin]);
  return (
    <>
      <h2>{text.decisions}</h2>
      <p class="quiet">{text.shown(begin + 1, end, events.length)}</p>
      <div
        class="table-scroll decided"
        tabIndex={0}
        role="region"
        aria-label={text.decisions}
        ref={region}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">{columns.request}</th>
              <th scope="col">{columns.answer}</th>
              <th scope="col">{columns.policy}</th>
            </tr>
          </thead>
          <tbody>
            {events.slice(begin, end).map((each, at) => (
              <tr key={begin + at} aria-current={begin + at === chosen ? "true" : undefined}>
                <td class="text">
                  <button
                    type="button"
                    class="plain"
                    onClick={() => {
                      props.onChoose(begin + at);
                    }}
                  >
                    <Foreign
                      text={`${begin + at + 1} ${each.method ?? ""} ${each.path ?? ""} ${each.client_ip ?? ""}`}
                    />
                  </button>
                </td>
                <td>{each.action ? <Badge answer={each.action} /> : marked(each.error ?? "")}</td>
                <td>
                  {marked(each.policy ?? each.reason ?? "")} {marked(each.clause ?? "")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function OverTime({ events }: { events: readonly DecidedEvent[] }) {
  const timed = events.filter((each) => each.action && !Number.isNaN(Date.parse(each.time ?? "")));
  if (timed.length < 2) return null;
  const { starts, step, placeOf } = steps(timed.map((each) => each.time ?? ""));
  const series = ANSWERS.map((name): Series => {
    const counts = starts.map(() => 0);
    for (const each of timed)
      if (each.action === name) {
        const place = placeOf(each.time ?? "");
        counts[place] = (counts[place] ?? 0) + 1;
      }
    return { name, label: console.actions[name], shape: SHAPES[name], counts };
  });
  return (
    <section class="card">
      <h2>{text.overTime}</h2>
      <Plot label={text.overTime} starts={starts} step={step} series={series} marks={[]} />
    </section>
  );
}

function Counted({ of }: { of: CountedWindow }) {
  const { starts, step, placeOf } = steps(of.points.map(({ time }) => time));
  const counts = starts.map(() => 0);
  for (const { time, value } of of.points) {
    const place = placeOf(time);
    counts[place] = Math.max(counts[place] ?? 0, value);
  }
  const label = text.window(of.policy, of.clause, of.threshold, of.duration_seconds);
  const series: Series[] = [{ name: "matched", label: text.value, shape: "●", counts }];
  return (
    <section class="card">
      <h3>{marked(label)}</h3>
      <Plot label={label} starts={starts} step={step} series={series} marks={[]} />
    </section>
  );
}

/** Equal steps over some times, each a whole number of seconds. */
function steps(times: readonly string[]) {
  const seconds = times.map((each) => Math.floor(Date.parse(each) / 1_000));
  const first = seconds.reduce((least, each) => Math.min(least, each), Infinity);
  const last = seconds.reduce((most, each) => Math.max(most, each), 0);
  const step = Math.max(1, Math.ceil((last - first + 1) / STEPS));
  const count = Math.max(2, Math.floor((last - first) / step) + 1);
  return {
    step,
    starts: Array.from({ length: count }, (_, at) => first + at * step),
    placeOf: (time: string) => Math.floor((Math.floor(Date.parse(time) / 1_000) - first) / step),
  };
}
