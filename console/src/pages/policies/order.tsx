/** The order of policies. A step up or down writes all priorities in one call. */

import { useMutation } from "@tanstack/preact-query";
import { api, body, queries, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.policies;
type Policy = Schemas["Policy"];

export function useOrder() {
  const { tenant_id } = useTenant();
  return useMutation({
    mutationFn: (policy_ids: string[]) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/policies/order", {
          params: { path: { tenant_id } },
          body: { policy_ids },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["policies", tenant_id] }),
  });
}

/** Buttons that move a policy; Alt and an arrow key do the same from either button. */
export function Moves(props: {
  policy: Policy;
  inOrder: readonly Policy[];
  order: ReturnType<typeof useOrder>;
}) {
  const { policy, inOrder, order } = props;
  const at = inOrder.findIndex((each) => each.policy_id === policy.policy_id);
  const move = (step: number): void => {
    const ids = inOrder.map((each) => each.policy_id);
    const other = ids[at + step];
    if (other === undefined || order.isPending) return;
    ids[at + step] = policy.policy_id;
    ids[at] = other;
    order.mutate(ids);
  };
  return (
    <span
      class="row"
      role="group"
      aria-label={marked(policy.name)}
      onKeyDown={(event) => {
        const step = event.altKey ? STEPS[event.key] : undefined;
        if (step === undefined) return;
        event.preventDefault();
        move(step);
      }}
    >
      {([-1, 1] as const).map((step) => (
        <RoleButton
          key={step}
          needs="Admin"
          onClick={() => {
            move(step);
          }}
        >
          <span aria-hidden="true">{step < 0 ? "↑" : "↓"}</span>
          <span class="hidden">
            {step < 0 ? words.earlier : words.later} {marked(policy.name)}
          </span>
        </RoleButton>
      ))}
    </span>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 };
