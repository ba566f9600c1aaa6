/** The health of the service, a line for each part. */

import type { ComponentChildren } from "preact";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";
import { useStatus } from "./status";

const words = text.overview;
const COUNT = new Intl.NumberFormat();

export function Health() {
  const found = useStatus();
  return (
    <section class="card" aria-labelledby="health">
      <h2 id="health">{words.health}</h2>
      <Answered of={found}>
        {(status) => (
          <ul class="health">
            <Part isWell={status.ready}>
              {status.ready ? words.ready : `${words.notReady} ${marked(status.because ?? "")}`}
            </Part>
            <Part isWell={status.active_revision === status.revision}>
              {words.revision(status.revision)}{" "}
              {status.active_revision !== status.revision && words.behind}
            </Part>
            <Part isWell={(status.evictions ?? 0) === 0}>
              {words.keys(
                COUNT.format(status.keys ?? 0),
                COUNT.format(status.max_keys ?? 0),
                COUNT.format(status.evictions ?? 0),
              )}
            </Part>
            <Part isWell>{words.daemons(status.daemons)}</Part>
            {status.address_databases.map(({ name, type, built_at, problem }) => (
              <Part isWell={problem === null} key={name}>
                {marked(words.database(name, type))} <Moment at={built_at} />
                {problem !== null && (
                  <>
                    . {words.databaseProblem} {marked(problem)}
                  </>
                )}
              </Part>
            ))}
            {status.last_snapshot_at !== null && (
              <Part isWell>
                {words.snapshot} <Moment at={status.last_snapshot_at} />
              </Part>
            )}
          </ul>
        )}
      </Answered>
    </section>
  );
}

function Part(props: { isWell: boolean; children: ComponentChildren }) {
  return (
    <li>
      <span class={props.isWell ? "better" : "worse"} aria-hidden="true">
        {props.isWell ? "✓" : "▲"}
      </span>
      <span>{props.children}</span>
    </li>
  );
}
