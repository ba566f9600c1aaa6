/** One action: what recognises it, and what the service says of the text. */

import { useQuery } from "@tanstack/preact-query";
import { useLocation, useRoute } from "preact-iso";
import { api, body, queries, type Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { useDraft } from "../../frame/draft";
import { hasRole, useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { CheckField, DraftForm, TextField } from "../../parts/form";
import { text } from "../../text/en";

const words = text.editing;
type Action = Schemas["Action"];
type Members = Pick<Action, "name" | "description" | "enabled" | "expression">;
const EMPTY: Members = { name: "", description: "", enabled: true, expression: "" };

export default function ActionPage() {
  const { tenant_id } = useTenant();
  const id = useRoute().params["id"] ?? "new";
  const found = useQuery({
    queryKey: ["action", tenant_id, id],
    queryFn: () => (id === "new" ? Promise.resolve(null) : read(tenant_id, id)),
  });
  return (
    <Answered of={found}>
      {(action) => <ActionForm key={action?.action_id ?? "new"} action={action} />}
    </Answered>
  );
}

function read(tenant_id: string, action_id: string): Promise<Action> {
  return body(
    api.GET("/api/v1/tenants/{tenant_id}/actions/{action_id}", {
      params: { path: { tenant_id, action_id } },
    }),
  );
}

function membersOf(action: Action): Members {
  const { name, description, enabled, expression } = action;
  return { name, description, enabled, expression };
}

function write(tenant_id: string, action: Action | null, members: Members, tag: string | null) {
  if (!action) {
    const path = { tenant_id };
    return body(
      api.POST("/api/v1/tenants/{tenant_id}/actions", { params: { path }, body: members }),
    );
  }
  return body(
    api.PATCH("/api/v1/tenants/{tenant_id}/actions/{action_id}", {
      params: { path: { tenant_id, action_id: action.action_id } },
      headers: tag === null ? {} : { "if-match": tag },
      body: members,
    }),
  );
}

function ActionForm({ action }: { action: Action | null }) {
  const { tenant_id, slug, role } = useTenant();
  const { route } = useLocation();
  const keep = (found: Action): void => {
    queries.setQueryData(["action", tenant_id, found.action_id], found);
  };
  const draft = useDraft<Action, Members>({
    object: action,
    draftOf: membersOf,
    empty: EMPTY,
    read: (found) => read(tenant_id, found.action_id),
    write: (members, tag) => write(tenant_id, action, members, tag),
    keep,
    saved: async (saved) => {
      await queries.invalidateQueries({ queryKey: ["actions", tenant_id] });
      if (!action) route(`/console/${slug}/actions/${saved.action_id}`);
    },
  });
  const { value, change } = draft;
  const mayWrite = hasRole(role, "Admin");
  return (
    <DraftForm
      title={action ? marked(action.name) : words.create}
      draft={draft}
      draftOf={membersOf}
      mayWrite={mayWrite}
    >
      <TextField
        label={words.name}
        isRequired
        value={value.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      <TextField
        label={words.description}
        value={value.description}
        onChange={(description) => {
          change({ description });
        }}
      />
      <CheckField
        label={words.enabled}
        value={value.enabled}
        onChange={(enabled) => {
          change({ enabled });
        }}
      />
      <ExpressionField
        label={words.expression}
        purpose="action"
        value={value.expression}
        isReadOnly={!mayWrite}
        onChange={(expression) => {
          change({ expression });
        }}
      />
    </DraftForm>
  );
}
