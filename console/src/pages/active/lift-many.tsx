/** Lifts all active mitigations of a policy at once, with the reason for the audit. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, queries } from "../../api/client";
import { usePolicies } from "../../definitions/objects";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Confirm } from "../../parts/confirm";
import { marked } from "../../parts/foreign";
import { ChoiceField, TextField } from "../../parts/form";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.active;
const MODES = [
  ["", text.decisions.filters.any],
  ["Block", text.actions.block],
  ["Challenge", text.actions.challenge],
] as const;

export function LiftMany() {
  const { tenant_id } = useTenant();
  const [policy_id, setPolicy] = useState("");
  const [mode, setMode] = useState<(typeof MODES)[number][0]>("");
  const [reason, setReason] = useState("");
  const policies = usePolicies().data ?? [];
  const refusal = useRefusal("Admin");
  const lift = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/active-mitigations/lift", {
          params: { path: { tenant_id } },
          body: { reason, ...(policy_id && { policy_id }), ...(mode && { mode }) },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["active", tenant_id] }),
  });
  return (
    <details>
      <summary>{words.liftMany}</summary>
      {lift.error && <ProblemPanel error={lift.error} />}
      <div class="row end">
        <ChoiceField
          label={words.policy}
          value={policy_id}
          options={[
            ["", text.decisions.filters.any],
            ...policies.map((each) => [each.policy_id, marked(each.name)] as const),
          ]}
          onChange={setPolicy}
        />
        <ChoiceField label={words.mode} value={mode} options={MODES} onChange={setMode} />
        <TextField label={words.reason} value={reason} onChange={setReason} />
        <Confirm
          label={words.liftAll}
          question={words.reallyLift}
          refusal={refusal ?? (reason ? null : words.needsReason)}
          onConfirm={() => {
            lift.mutate();
          }}
        />
      </div>
      <p role="status">{lift.data && words.lifted(lift.data.lifted, lift.data.complete)}</p>
    </details>
  );
}
