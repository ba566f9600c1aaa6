/** An explanation: the result of each policy and clause, with the values. */

import type { Schemas } from "../../api/client";
import { Legend, Painted } from "../../expression/painted";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.decision;
type Explanation = Pick<Schemas["DecisionExplanation"], "reproduced" | "because" | "trace">;
type Clause = Schemas["ClauseExplanation"];
type Action = Schemas["ActionExplanation"];

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
