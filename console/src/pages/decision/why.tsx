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
type Policy = Schemas["PolicyExplanation"];
type Override = Schemas["OverrideExplanation"];

export function Why(props: {
  explanation: Explanation;
  isDraft?: boolean;
  /** Whether to leave out that it agrees with a record: there isn't one. */
  isPlain?: boolean;
}) {
  const { explanation, isDraft = false, isPlain = false } = props;
  const { trace } = explanation;
  return (
    <>
      {isPlain ? null : explanation.reproduced ? (
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
      {trace && <Actions of={trace.actions} />}
      {trace && <Policies of={trace.policies} />}
    </>
  );
}

/** The actions that matched; the others are folded. */
function Actions({ of }: { of: readonly Action[] }) {
  const others = of.filter(({ matched }) => !matched);
  const shown = (action: Action) => <ActionShown key={action.slug} action={action} />;
  return (
    <>
      {of.filter(({ matched }) => matched).map(shown)}
      {others.length > 0 && (
        <details class="step">
          <summary>
            <Sign isOn={false} /> {words.noMatch(others.length)}
          </summary>
          {others.map(shown)}
        </details>
      )}
    </>
  );
}

/** The policies of which a clause fired; the others are folded. */
function Policies({ of }: { of: readonly Policy[] }) {
  const hasFired = ({ clauses }: Policy): boolean => clauses.some(({ fired }) => fired);
  const others = of.filter((policy) => !hasFired(policy));
  const shown = (policy: Policy) => <PolicyShown key={policy.slug} policy={policy} />;
  return (
    <>
      {of.filter(hasFired).map(shown)}
      {others.length > 0 && (
        <details class="step">
          <summary>
            <Sign isOn={false} /> {words.noFire(others.length)}
          </summary>
          {others.map(shown)}
        </details>
      )}
    </>
  );
}

function PolicyShown({ policy }: { policy: Policy }) {
  return (
    <section class="step">
      <h3>{marked(policy.slug)}</h3>
      {policy.scope && <Painted expression={policy.scope} />}
      {policy.clauses.map((clause) => (
        <ClauseShown key={clause.name} clause={clause} />
      ))}
    </section>
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
  const { window } = clause;
  return (
    <details class={clause.fired ? "step fired" : "step"} open={clause.fired}>
      <summary>
        <Sign isOn={clause.fired} /> <strong>{marked(clause.name)}</strong>: {state}.{" "}
        <span class="quiet">{marked(clause.because)}</span>
      </summary>
      {window && (
        <label class="window">
          <meter min={0} max={window.threshold} value={window.value ?? 0} />
          <span>{words.window(window.value ?? 0, window.threshold, window.duration_seconds)}</span>
        </label>
      )}
      {clause.condition && <Painted expression={clause.condition} />}
    </details>
  );
}

function ActionShown({ action: { slug, matched, expression } }: { action: Action }) {
  return (
    <details class={matched ? "step fired" : "step"} open={matched}>
      <summary>
        <Sign isOn={matched} /> {words.action} <strong>{marked(slug)}</strong>
      </summary>
      {expression && <Painted expression={expression} />}
    </details>
  );
}

function Sign({ isOn }: { isOn: boolean }) {
  return <span class="sign">{isOn ? "✓" : "✗"}</span>;
}
