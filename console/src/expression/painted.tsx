/** The text of an explained expression with the result of each part, and the same as a list. */

import type { Schemas } from "../api/client";
import { Foreign, marked } from "../parts/foreign";
import { text } from "../text/en";
import { painted, type Part } from "./paint";

const words = text.painted;
type Expression = Schemas["ExpressionExplanation"];
const LONGEST = 40;
const INDENT = "\u00a0\u00a0";

export function Painted({ expression }: { expression: Expression }) {
  const { error, message, steps, steps_left_out: leftOut } = expression;
  return (
    <div class="expression">
      <pre class="painted">
        <Content of={painted(expression.text, steps)} />
      </pre>
      {error !== null && <p>{marked(message ?? error)}</p>}
      <details>
        <summary>{words.list(steps.length)}</summary>
        <Steps steps={steps} />
        {leftOut > 0 && <p class="quiet">{words.leftOut(leftOut)}</p>}
      </details>
    </div>
  );
}

/** The legend: how each result is drawn. */
export function Legend() {
  return (
    <p class="quiet row">
      {words.legend}
      {(["held", "missed", "unreached"] as const).map((state) => (
        <code key={state} class={`part ${state}`}>
          {words[state]}
        </code>
      ))}
    </p>
  );
}

function Content({ of }: { of: readonly (string | Part)[] }) {
  return <>{of.map((each) => (typeof each === "string" ? marked(each) : <Piece part={each} />))}</>;
}

/** A part with its value in an attribute, drawn by CSS, so that copying gives only the text. */
function Piece({ part }: { part: Part }) {
  const said = marked(part.state === "unreached" ? words.unreached : part.said);
  const shown = said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said;
  return (
    <span
      class={`part ${part.state}`}
      title={said}
      {...(part.isShown ? { "data-value": shown } : {})}
    >
      <Content of={part.content} />
    </span>
  );
}

function Steps({ steps }: { steps: Expression["steps"] }) {
  return (
    <div class="table-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">{words.part}</th>
            <th scope="col">{words.value}</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr>
              <td class="text">
                {INDENT.repeat(step.depth)}
                <Foreign text={step.text} />
              </td>
              <td class="text">
                {step.reached ? (
                  <Foreign text={step.value ?? step.error ?? ""} />
                ) : (
                  <span class="quiet">{words.unreached}</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
