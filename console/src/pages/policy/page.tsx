/** One policy: its scope, and its clauses in order. */

import type { Schemas } from "../../api/client";
import { objectCalls } from "../../api/objects";
import { ExpressionField } from "../../expression/field";
import { CommonFields } from "../../definitions/common";
import { Defined, type Resource } from "../../definitions/defined";
import { PolicyTabs } from "../../definitions/policy-tabs";
import { ChoiceField, NumberField } from "../../parts/form";
import { text } from "../../text/en";
import { Clauses, newClause } from "./clauses";
import { DraftMatches } from "./draft-matches";

const words = text.policy;
type Policy = Schemas["Policy"];
type Members = Pick<
  Policy,
  "name" | "description" | "labels" | "enabled" | "status" | "priority" | "expression" | "clauses"
>;
const STATUSES = (["draft", "active", "retired"] as const).map((each) => [each, each] as const);

const POLICY: Resource<Policy, Members> = {
  folder: "policies",
  title: words.create,
  idOf: (policy) => policy.policy_id,
  membersOf: ({ name, description, labels, enabled, status, priority, expression, clauses }) => ({
    name,
    description,
    labels,
    enabled,
    status,
    priority,
    expression,
    clauses,
  }),
  empty: (given) => ({
    name: "",
    description: "",
    labels: {},
    enabled: true,
    status: "draft",
    priority: 100,
    expression: null,
    clauses: [{ ...newClause(), expression: given.get("expression") }],
  }),
  ...objectCalls(
    "/api/v1/tenants/{tenant_id}/policies",
    "/api/v1/tenants/{tenant_id}/policies/{policy_id}",
  ),
};

export default function PolicyPage() {
  return (
    <Defined resource={POLICY} above={(policy) => <PolicyTabs id={policy.policy_id} />}>
      {({ value, change }, isReadOnly) => (
        <div class="with-aside">
          <div>
            <section class="card" aria-labelledby="general">
              <h2 id="general">{words.general}</h2>
              <CommonFields value={value} change={change} />
              <div class="row fields">
                <ChoiceField
                  label={words.status}
                  value={value.status}
                  options={STATUSES}
                  onChange={(status) => {
                    change({ status });
                  }}
                />
                <NumberField
                  label={text.policies.columns.order}
                  value={value.priority}
                  onChange={(priority) => {
                    change({ priority });
                  }}
                />
              </div>
            </section>
            <section class="card" aria-labelledby="scope">
              <h2 id="scope">{words.traffic}</h2>
              <ExpressionField
                label={words.scope}
                purpose="scope"
                rows
                value={value.expression ?? ""}
                isReadOnly={isReadOnly}
                onChange={(expression) => {
                  change({ expression: expression || null });
                }}
              />
            </section>
            <Clauses
              clauses={value.clauses}
              isReadOnly={isReadOnly}
              onChange={(clauses) => {
                change({ clauses });
              }}
            />
          </div>
          <DraftMatches draft={value} />
        </div>
      )}
    </Defined>
  );
}
