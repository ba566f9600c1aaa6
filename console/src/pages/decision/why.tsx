/** An explanation: what each policy and clause said of the event, and the values behind it. */

import type { Schemas } from "../../api/client";
import { Foreign, marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.decision;
type Explanation = Schemas["DecisionExplanation"];
type Clause = Schemas["ClauseExplanation"];
type Expression = Schemas["ExpressionExplanation"];

export function Why({ explanation }: { explanation: Explanation }) {
  const { trace } = explanation;
  return (
    <>
      {explanation.reproduced ? (
        <p class="quiet">✓ {words.recorded}</p>
      ) : (
        <div class="problem" role="alert">
          <strong>{words.differs}</strong>
          <ul>
            {explanation.because.map((each) => (
              <li>{marked(each)}</li>
            ))}
          </ul>
        </div>
      )}
      {trace?.policies.map((policy) => (
        <section key={policy.slug}>
          <h3>{marked(policy.slug)}</h3>
          {policy.scope && <Shown expression={policy.scope} />}
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
      {clause.condition && <Shown expression={clause.condition} />}
    </details>
  );
}

function Shown({ expression }: { expression: Expression }) {
  const held = expression.value === "true" ? "held" : "missed";
  return (
    <div class="expression">
      <pre class={held}>{marked(expression.text)}</pre>
      {expression.error !== null && <p>{marked(expression.message ?? expression.error)}</p>}
      <table>
        <tbody>
          {expression.steps.map((step) => (
            <tr>
              <td class="text">
                <Foreign text={"  ".repeat(step.depth) + step.text} />
              </td>
              <td class="text">
                <Foreign text={step.value ?? step.error ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
