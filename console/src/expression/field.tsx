/** An expression with the service's report: findings in the text and below, type, cost. */

import { lazy } from "preact-iso";
import { useState } from "preact/hooks";
import { hasRole, useTenant } from "../frame/session";
import { ProblemPanel } from "../parts/problem";
import { hinted, marked } from "../parts/foreign";
import { text } from "../text/en";
import { Matches } from "./match";
import { useCheck, type Finding, type Purpose, type Report } from "./check";

const ExpressionEditor = lazy(() => import("./editor").then((module) => module.ExpressionEditor));
const ExpressionBuilder = lazy(() => import("./editor").then((module) => module.ExpressionBuilder));
const words = text.editing;
const NOTHING: readonly Finding[] = [];

export interface ExpressionFieldProps {
  label: string;
  purpose: Purpose;
  value: string;
  /** Whether it is the condition of a clause that has an entity. */
  entity?: boolean;
  isReadOnly?: boolean;
  /** Whether to preview matching recorded events: one field per page, since an operator can run few
   * previews at a time. */
  matches?: boolean;
  /** Whether it can be shown as rows. */
  rows?: boolean;
  onChange: (value: string) => void;
}

export function ExpressionField(props: ExpressionFieldProps) {
  const { value, purpose, entity = false } = props;
  const { tenant_id, role } = useTenant();
  const question = { expression: value, purpose, entity };
  const [asRows, setAsRows] = useState(false);
  const { report, isCurrent, error } = useCheck(question);
  const isGood = isCurrent && report?.ok === true;
  const formatted = isCurrent ? (report?.formatted ?? value) : value;
  const format = (): void => {
    if (formatted !== value && props.isReadOnly !== true) props.onChange(formatted);
  };
  return (
    <div class="field">
      <div class="row spread">
        <span>{props.label}</span>
        {props.rows === true && (
          <button
            type="button"
            aria-label={`${props.label}: ${asRows ? text.rows.asText : text.rows.asRows}`}
            onClick={() => {
              setAsRows(!asRows);
            }}
          >
            {asRows ? text.rows.asText : text.rows.asRows}
          </button>
        )}
      </div>
      {asRows ? (
        <ExpressionBuilder {...props} />
      ) : (
        <ExpressionEditor
          {...props}
          findings={isCurrent && report ? report.diagnostics : NOTHING}
          asker={{ tenant_id, question, seesTraffic: hasRole(role, "Analyst") }}
          typed={{ expression: isCurrent ? value : "", nodes: report?.nodes ?? [] }}
          onFormat={format}
        />
      )}
      {error !== null && <ProblemPanel error={error} />}
      <Said report={report} />
      {formatted !== value && props.isReadOnly !== true && (
        <button type="button" title="Alt F" onClick={format}>
          {words.format}
        </button>
      )}
      {props.matches === true && (
        <Matches asked={isGood ? { expression: value, purpose: asCondition(purpose) } : null} />
      )}
    </div>
  );
}

function Said({ report }: { report: Report | null }) {
  return (
    <div role="status">
      {report?.diagnostics.map((finding) => (
        <p class={`finding ${finding.severity}`}>
          {finding.line}:{finding.column} {hinted(finding.message, finding.hint)}
        </p>
      ))}
      {report?.ok === true && (
        <p class="quiet">
          {words.type} {report.type} · {words.cost} {report.cost_estimate} · {words.reads}{" "}
          {(report.fields ?? []).map(marked).join(", ")}
        </p>
      )}
    </div>
  );
}

/** A key isn't a condition, so it has no preview. */
/** Whether the expression is a value instead of a condition. */
function isValue(purpose: Purpose): purpose is "key-field" | "window-field" | "header" {
  return ["key-field", "window-field", "header"].includes(purpose);
}

function asCondition(purpose: Purpose) {
  return isValue(purpose) ? "condition" : purpose;
}
