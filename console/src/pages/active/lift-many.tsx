/** Lifts all active mitigations of a policy: counts them, and needs a reason for the audit. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, queries } from "../../api/client";
import { usePolicies } from "../../definitions/objects";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
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
  const [typed, setTyped] = useState("");
  const policies = usePolicies().data ?? [];
  const refusal = useRefusal("Admin") ?? (reason.trim() ? null : words.needsReason);
  const call = (dry_run: boolean) =>
    body(
      api.POST("/api/v1/tenants/{tenant_id}/active-mitigations/lift", {
        params: { path: { tenant_id } },
        body: { reason, dry_run, ...(policy_id && { policy_id }), ...(mode && { mode }) },
      }),
    );
  const count = useMutation({ mutationFn: () => call(true) });
  const lift = useMutation({
    mutationFn: () => call(false),
    onSettled: () => {
      again();
      return queries.invalidateQueries({ queryKey: ["active", tenant_id] });
    },
  });
  const counted = count.data;
  /** Resets the count: it differs for other mitigations, or after some were lifted. */
  function again(): void {
    count.reset();
    setTyped("");
  }
  return (
    <details>
      <summary>{words.liftMany}</summary>
      {(count.error ?? lift.error) && <ProblemPanel error={count.error ?? lift.error} />}
      <div class="row end">
        <ChoiceField
          label={words.policy}
          value={policy_id}
          options={[
            ["", text.decisions.filters.any],
            ...policies.map((each) => [each.policy_id, marked(each.name)] as const),
          ]}
          onChange={(chosen) => {
            setPolicy(chosen);
            again();
          }}
        />
        <ChoiceField
          label={words.mode}
          value={mode}
          options={MODES}
          onChange={(chosen) => {
            setMode(chosen);
            again();
          }}
        />
        <TextField label={words.reason} value={reason} onChange={setReason} />
        <button
          type="button"
          class="field"
          disabled={refusal !== null || count.isPending}
          title={refusal ?? ""}
          onClick={() => {
            lift.reset();
            setTyped("");
            count.mutate();
          }}
        >
          {words.count}
        </button>
      </div>
      <p role="status">
        {counted && words.wouldLift(counted.lifted, counted.complete)}
        {lift.data && words.lifted(lift.data.lifted, lift.data.complete)}
      </p>
      {counted && counted.lifted > 0 && (
        <div class="row end">
          <TextField label={words.typeCount(counted.lifted)} value={typed} onChange={setTyped} />
          <button
            type="button"
            class="field danger"
            disabled={refusal !== null || typed.trim() !== String(counted.lifted) || lift.isPending}
            title={refusal ?? (typed.trim() === String(counted.lifted) ? "" : words.needsCount)}
            onClick={() => {
              lift.mutate();
            }}
          >
            {words.liftAll}
          </button>
        </div>
      )}
    </details>
  );
}
