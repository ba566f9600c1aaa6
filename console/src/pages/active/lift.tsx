/** Lifts one mitigation of an entity; the audit keeps the optional reason. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, queries, type Schemas } from "../../api/client";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Confirm } from "../../parts/confirm";
import { TextField } from "../../parts/form";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.active;
type Row = Schemas["EntityMitigation"];

export function Lift({ row }: { row: Row }) {
  const { tenant_id } = useTenant();
  const [reason, setReason] = useState("");
  const refusal = useRefusal("Admin");
  const { entity_id, policy_id, clause } = row;
  const lift = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/tenants/{tenant_id}/active-mitigations/lift", {
        params: { path: { tenant_id } },
        body: { entity_id, policy_id, clause, ...(reason.trim() && { reason }) },
      }),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["active", tenant_id] }),
        queries.invalidateQueries({ queryKey: ["entity", tenant_id] }),
      ]),
  });
  return (
    <>
      {lift.error && <ProblemPanel error={lift.error} />}
      <Confirm
        label={words.lift}
        question={<TextField label={words.maybeReason} value={reason} onChange={setReason} />}
        refusal={refusal}
        onConfirm={() => {
          lift.mutate();
        }}
      />
    </>
  );
}
