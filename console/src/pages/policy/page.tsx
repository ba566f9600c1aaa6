/** One policy: its scope, and its clauses in order. */

import { useQuery } from "@tanstack/preact-query";
import { useLocation, useRoute } from "preact-iso";
import { api, body, queries, type Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { useDraft } from "../../frame/draft";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { CheckField, ChoiceField, DraftForm, NumberField, TextField } from "../../parts/form";
import { text } from "../../text/en";
import { Clauses, newClause } from "./clauses";

const words = text.policy;
type Policy = Schemas["Policy"];
type Members = Pick<
  Policy,
  "name" | "description" | "enabled" | "status" | "priority" | "expression" | "clauses"
>;
const EMPTY: Members = {
  name: "",
  description: "",
  enabled: true,
  status: "draft",
  priority: 100,
  expression: null,
  clauses: [newClause()],
};
const STATUSES = [
  ["draft", "draft"],
  ["active", "active"],
  ["retired", "retired"],
] as const;

export default function PolicyPage() {
  const { tenant_id } = useTenant();
  const id = useRoute().params["id"] ?? "new";
  const found = useQuery({
    queryKey: ["policy", tenant_id, id],
    queryFn: () => (id === "new" ? Promise.resolve(null) : read(tenant_id, id)),
  });
  return (
    <Answered of={found}>
      {(policy) => <PolicyForm key={policy?.policy_id ?? "new"} policy={policy} />}
    </Answered>
  );
}

function read(tenant_id: string, policy_id: string): Promise<Policy> {
  return body(
    api.GET("/api/v1/tenants/{tenant_id}/policies/{policy_id}", {
      params: { path: { tenant_id, policy_id } },
    }),
  );
}

function membersOf(policy: Policy): Members {
  const { name, description, enabled, status, priority, expression, clauses } = policy;
  return { name, description, enabled, status, priority, expression, clauses };
}

function write(tenant_id: string, policy: Policy | null, members: Members, tag: string | null) {
  if (!policy) {
    const path = { tenant_id };
    return body(
      api.POST("/api/v1/tenants/{tenant_id}/policies", { params: { path }, body: members }),
    );
  }
  return body(
    api.PATCH("/api/v1/tenants/{tenant_id}/policies/{policy_id}", {
      params: { path: { tenant_id, policy_id: policy.policy_id } },
      headers: tag === null ? {} : { "if-match": tag },
      body: members,
    }),
  );
}

function PolicyForm({ policy }: { policy: Policy | null }) {
  const { tenant_id, slug, role } = useTenant();
  const { route } = useLocation();
  const keep = (found: Policy): void => {
    queries.setQueryData(["policy", tenant_id, found.policy_id], found);
  };
  const draft = useDraft<Policy, Members>({
    object: policy,
    draftOf: membersOf,
    empty: EMPTY,
    read: (found) => read(tenant_id, found.policy_id),
    write: (members, tag) => write(tenant_id, policy, members, tag),
    keep,
    saved: async (saved) => {
      await queries.invalidateQueries({ queryKey: ["policies", tenant_id] });
      if (!policy) route(`/console/${slug}/policies/${saved.policy_id}`);
    },
  });
  const { value, change } = draft;
  const mayWrite = hasRole(role, "Admin");
  return (
    <DraftForm
      title={policy ? marked(policy.name) : words.create}
      draft={draft}
      draftOf={membersOf}
      mayWrite={mayWrite}
    >
      <TextField
        label={text.editing.name}
        isRequired
        value={value.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      <TextField
        label={text.editing.description}
        value={value.description}
        onChange={(description) => {
          change({ description });
        }}
      />
      <div class="row">
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
        <CheckField
          label={text.editing.enabled}
          value={value.enabled}
          onChange={(enabled) => {
            change({ enabled });
          }}
        />
      </div>
      <ExpressionField
        label={words.scope}
        purpose="scope"
        value={value.expression ?? ""}
        isReadOnly={!mayWrite}
        onChange={(expression) => {
          change({ expression: expression || null });
        }}
      />
      <Clauses
        clauses={value.clauses}
        isReadOnly={!mayWrite}
        onChange={(clauses) => {
          change({ clauses });
        }}
      />
    </DraftForm>
  );
}
