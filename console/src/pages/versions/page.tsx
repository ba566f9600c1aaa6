/** The versions of a policy: what was it before, and who changed it? */

import { useMutation } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, page, queries, type Schemas } from "../../api/client";
import { PolicyTabs } from "../../definitions/policy-tabs";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Difference } from "../../parts/difference";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.versions;
type Version = Schemas["PolicyVersion"];

export default function VersionsPage() {
  const policy_id = useRoute().params["id"] ?? "";
  const { tenant_id } = useTenant();
  const path = { tenant_id, policy_id };
  const restore = useMutation({
    mutationFn: (version: number) =>
      api.POST("/api/v1/tenants/{tenant_id}/policies/{policy_id}/restore", {
        params: { path },
        body: { version },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["policies", tenant_id] }),
  });
  const columns = (rows: readonly Version[]): Column<Version>[] => [
    { name: words.version, kind: "number", cell: (row) => row.version },
    { name: words.at, cell: (row) => <Moment at={row.created_at} /> },
    {
      name: words.change,
      kind: "text",
      cell: (row) => {
        const before = rows.find((each) => each.version === row.version - 1);
        return before ? <Difference before={before.policy} after={row.policy} /> : "";
      },
    },
    {
      name: words.restore,
      cell: (row) => (
        <RoleButton
          needs="Admin"
          isBusy={restore.isPending || row === rows[0]}
          onClick={() => {
            restore.mutate(row.version);
          }}
        >
          {words.restore} {row.version}
        </RoleButton>
      ),
    },
  ];
  return (
    <>
      <PolicyTabs id={policy_id} />
      <h1>{words.title}</h1>
      {restore.error && <ProblemPanel error={restore.error} />}
      <Listing<Version>
        label={words.title}
        queryKey={["policies", tenant_id, policy_id, "versions"]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/policies/{policy_id}/versions", {
              params: { path, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(row) => String(row.version)}
        empty={<p class="card empty">{words.empty}</p>}
      />
    </>
  );
}
