/** An explanation: the result of each policy and clause, with the values. */

import type { Schemas } from "../../api/client";
import { Legend, Painted } from "../../expression/painted";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";

const words = text.decision;
type Explanation = Pick<Schemas["DecisionExplanation"], "reproduced" | "because" | "trace">;
type Clause = Schemas["ClauseExplanation"];
type Action = Schemas["ActionExplanation"];
type Override = Schemas["OverrideExplanation"];

export function Why(props: { explanation: Explanation; isDraft?: boolean }) {
  const { explanation, isDraft = false } = props;
  const { trace } = explanation;
  return (
    <>
      {explanation.reproduced ? (
        <p class="quiet">✓ {isDraft ? text.replay.reproduced : words.recorded}</p>
      ) : (
        <div class="problem" role="alert">
          <strong>{isDraft ? text.replay.notReproduced : words.differs}</strong>
          <ul>
            {explanation.because.map((each) => (
              <li>{marked(each)}</li>
            ))}
          </ul>
        </div>
      )}
      {trace?.override && <OverrideShown override={trace.override} />}
      {trace && <Legend />}
      {trace?.actions.map((action) => (
        <ActionShown key={action.slug} action={action} />
      ))}
      {trace?.policies.map((policy) => (
        <section key={policy.slug}>
          <h3>{marked(policy.slug)}</h3>
          {policy.scope && <Painted expression={policy.scope} />}
          {policy.clauses.map((clause) => (
            <ClauseShown key={clause.name} clause={clause} />
          ))}
        </section>
      ))}
    </>
  );
}

function OverrideShown({ override }: { override: Override }) {
  const kind = override.kind === "ban" ? "ban" : "allow";
  return (
    <p>
      <strong>
        {text.overrides.by[kind]} {marked(override.author || text.overrides.somebody)}
      </strong>{" "}
      {text.overrides.until} <Moment at={override.ends_at} />: {marked(override.reason)}
    </p>
  );
}

function ClauseShown({ clause }: { clause: Clause }) {
  const state = clause.fired ? (clause.active ? words.active : words.fired) : words.didNotFire;
  return (
    <details open={clause.fired}>
      <summary>
        {clause.fired ? "✓" : "✗"} {marked(clause.name)}: {state}. {marked(clause.because)}
      </summary>
      {clause.window && (
        <p>
          {clause.window.value ?? 0} / {clause.window.threshold} in {clause.window.duration_seconds}{" "}
          s
        </p>
      )}
      {clause.condition && <Painted expression={clause.condition} />}
    </details>
  );
}

function ActionShown({ action: { slug, matched, expression } }: { action: Action }) {
  return (
    <details open={matched}>
      <summary>
        {matched ? "✓" : "✗"} {words.action} {marked(slug)}
      </summary>
      {expression && <Painted expression={expression} />}
    </details>
  );
}
