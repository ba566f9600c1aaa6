/** An expression with what the service says of it: findings in the text and below, type, cost. */

import { lazy } from "preact-iso";
import { useTenant } from "../frame/session";
import { ProblemPanel } from "../parts/problem";
import { marked } from "../parts/foreign";
import { text } from "../text/en";
import { MatchCount } from "./match";
import { useCheck, type Finding, type Purpose } from "./check";

const ExpressionEditor = lazy(() => import("./editor").then((module) => module.ExpressionEditor));
const words = text.editing;
const NOTHING: readonly Finding[] = [];

export function ExpressionField(props: {
  label: string;
  purpose: Purpose;
  value: string;
  isReadOnly?: boolean;
  /** Whether to count the recorded events it holds for: one field a page, since an operator has
   * one look at a time. */
  counts?: boolean;
  onChange: (value: string) => void;
}) {
  const { tenant_id } = useTenant();
  const checked = useCheck(tenant_id, props.value, props.purpose);
  const { report } = checked;
  const isCurrent = checked.expression === props.value;
  return (
    <div class="field">
      <span>{props.label}</span>
      <ExpressionEditor {...props} findings={isCurrent && report ? report.diagnostics : NOTHING} />
      {checked.error !== null && <ProblemPanel error={checked.error} />}
      <div role="status">
        {report?.diagnostics.map((finding) => (
          <p class={`finding ${finding.severity}`}>
            {finding.line}:{finding.column} {marked(finding.message)} {marked(finding.hint ?? "")}
          </p>
        ))}
        {props.counts && <MatchCount expression={isCurrent && report?.ok ? props.value : null} />}
        {report?.ok && (
          <p class="quiet">
            {words.type} {report.type} · {words.cost} {report.cost_estimate} · {words.reads}{" "}
            {(report.fields ?? []).map(marked).join(", ")}
          </p>
        )}
      </div>
      {report?.formatted != null && report.formatted !== props.value && !props.isReadOnly && (
        <button
          type="button"
          onClick={() => {
            props.onChange(report.formatted ?? props.value);
          }}
        >
          {words.format}
        </button>
      )}
    </div>
  );
}
