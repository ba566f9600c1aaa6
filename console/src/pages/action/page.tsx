/** One action: its expression, with the service's findings. */

import type { Schemas } from "../../api/client";
import { objectCalls } from "../../api/objects";
import { ExpressionField } from "../../expression/field";
import { CommonFields } from "../../definitions/common";
import { Defined, type Resource } from "../../definitions/defined";
import { ChoiceField } from "../../parts/form";
import { text } from "../../text/en";

const words = text.action;
type Action = Schemas["Action"];
type Members = Pick<
  Action,
  "name" | "description" | "labels" | "enabled" | "expression" | "fail_mode"
>;
const FAIL_MODES = [
  ["", words.failModes.tenant],
  ["last-known", words.failModes.lastKnown],
  ["open", words.failModes.open],
  ["closed", words.failModes.closed],
] as const;

const ACTION: Resource<Action, Members> = {
  folder: "actions",
  title: words.create,
  idOf: (action) => action.action_id,
  membersOf: ({ name, description, labels, enabled, expression, fail_mode }) => ({
    name,
    description,
    labels,
    enabled,
    expression,
    fail_mode,
  }),
  empty: (given) => ({
    name: "",
    description: "",
    labels: {},
    enabled: true,
    expression: given.get("expression") ?? "",
    fail_mode: null,
  }),
  ...objectCalls(
    "/api/v1/tenants/{tenant_id}/actions",
    "/api/v1/tenants/{tenant_id}/actions/{action_id}",
  ),
};

export default function ActionPage() {
  return (
    <Defined resource={ACTION}>
      {({ value, change }, isReadOnly) => (
        <>
          <CommonFields value={value} change={change} />
          <ExpressionField
            label={text.editing.expression}
            purpose="action"
            rows
            matches
            value={value.expression}
            isReadOnly={isReadOnly}
            onChange={(expression) => {
              change({ expression });
            }}
          />
          <ChoiceField
            label={words.failMode}
            value={value.fail_mode ?? ""}
            options={FAIL_MODES}
            onChange={(mode) => {
              change({ fail_mode: mode === "" ? null : mode });
            }}
          />
        </>
      )}
    </Defined>
  );
}
