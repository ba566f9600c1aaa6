/** The tenant's operators: people by email address, each with a role. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { RoleButton, useRefusal } from "../../frame/role";
import type { Role } from "../../frame/session";
import { useTenant } from "../../frame/session";
import { Confirm } from "../../parts/confirm";
import { marked } from "../../parts/foreign";
import { ChoiceField, TextField } from "../../parts/form";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.settings;
type Person = Schemas["Membership"];
const ROLES = (["Viewer", "Analyst", "Admin", "Owner"] as const).map(
  (role) => [role, role] as const,
);

const COLUMNS: readonly Column<Person>[] = [
  { name: words.name, kind: "text", cell: (each) => marked(each.name ?? each.user_id) },
  { name: text.login.email, kind: "text", cell: (each) => marked(each.email ?? "") },
  { name: words.role, cell: (each) => each.role },
  { name: words.state, cell: (each) => (each.pending ? words.pending : words.valid) },
];

export function People() {
  const { tenant_id } = useTenant();
  const needsOwner = useRefusal("Owner");
  const remove = useMutation({
    mutationFn: ({ user_id }: Person) =>
      api.DELETE("/api/v1/tenants/{tenant_id}/memberships/{user_id}", {
        params: { path: { tenant_id, user_id } },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["people", tenant_id] }),
  });
  const taken: Column<Person> = {
    name: words.change,
    cell: (each) => (
      <Confirm
        label={`${text.editing.remove} ${marked(each.name ?? each.email ?? each.user_id)}`}
        question={words.reallyRemove}
        refusal={each.role === "Owner" ? needsOwner : null}
        onConfirm={() => {
          remove.mutate(each);
        }}
      />
    ),
  };
  return (
    <>
      {remove.error && <ProblemPanel error={remove.error} />}
      <Invitation />
      <Listing
        label={words.people}
        queryKey={["people", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/memberships", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={[...COLUMNS, taken]}
        keyOf={(each) => each.user_id}
        empty={<p>{words.noPeople}</p>}
      />
    </>
  );
}

function Invitation() {
  const { tenant_id } = useTenant();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("Viewer");
  const put = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/memberships", {
          params: { path: { tenant_id } },
          body: { email, role },
        }),
      ),
    onSuccess: () => {
      setEmail("");
      return queries.invalidateQueries({ queryKey: ["people", tenant_id] });
    },
  });
  return (
    <>
      {put.error && <ProblemPanel error={put.error} />}
      <form
        class="row end"
        onSubmit={(event) => {
          event.preventDefault();
          put.mutate();
        }}
      >
        <TextField label={text.login.email} isRequired value={email} onChange={setEmail} />
        <ChoiceField label={words.role} value={role} options={ROLES} onChange={setRole} />
        <RoleButton
          type="submit"
          class="field"
          needs={role === "Owner" ? "Owner" : "Admin"}
          isBusy={put.isPending}
        >
          {words.invite}
        </RoleButton>
      </form>
    </>
  );
}
