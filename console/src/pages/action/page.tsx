/** One action: what recognises it, and what the service says of the text. */

import { api, body, type Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { CommonFields } from "../../frame/common";
import { Defined, type Resource } from "../../frame/defined";
import { text } from "../../text/en";

type Action = Schemas["Action"];
type Members = Pick<Action, "name" | "description" | "enabled" | "expression">;

const ACTION: Resource<Action, Members> = {
  folder: "actions",
  title: text.action.create,
  idOf: (action) => action.action_id,
  membersOf: ({ name, description, enabled, expression }) => ({
    name,
    description,
    enabled,
    expression,
  }),
  empty: (given) => ({
    name: "",
    description: "",
    enabled: true,
    expression: given.get("expression") ?? "",
  }),
  read: (tenant_id, action_id) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/actions/{action_id}", {
        params: { path: { tenant_id, action_id } },
      }),
    ),
  create: (tenant_id, members) =>
    body(
      api.POST("/api/v1/tenants/{tenant_id}/actions", {
        params: { path: { tenant_id } },
        body: members,
      }),
    ),
  change: (tenant_id, action_id, members, headers) =>
    body(
      api.PATCH("/api/v1/tenants/{tenant_id}/actions/{action_id}", {
        params: { path: { tenant_id, action_id } },
        headers,
        body: members,
      }),
    ),
  remove: (tenant_id, action_id) =>
    api.DELETE("/api/v1/tenants/{tenant_id}/actions/{action_id}", {
      params: { path: { tenant_id, action_id } },
    }),
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
            matches
            value={value.expression}
            isReadOnly={isReadOnly}
            onChange={(expression) => {
              change({ expression });
            }}
          />
        </>
      )}
    </Defined>
  );
}
