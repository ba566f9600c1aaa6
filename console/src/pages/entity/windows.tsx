/** Every window that counts events of an entity, with its count and threshold. */

import type { Schemas } from "../../api/client";
import { usePolicies } from "../../definitions/objects";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";

const words = text.entity;
type State = Schemas["EntityState"];
type Shown = Omit<State["windows"][number], "policy_id">;

export function Windows({ state }: { state: State }) {
  const windows = windowsOf(state, usePolicies().data ?? []);
  if (windows.length === 0) return <p>{words.noWindows}</p>;
  return (
    <ul class="tree">
      {windows.map((each) => (
        <li key={`${each.policy} ${each.clause}`}>
          <label>
            {marked(each.policy)}, {marked(each.clause)}: {each.value} / {each.threshold}{" "}
            {words.within(each.duration_seconds)}{" "}
            <meter min={0} max={each.threshold} value={each.value} />
          </label>{" "}
          <span class="quiet">
            {each.value >= each.threshold ? words.reached : words.below}
            {each.falls_at != null && (
              <>
                {" "}
                {words.falls} <Moment at={each.falls_at} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The windows of an entity, including empty ones of active policies. */
function windowsOf(state: State, policies: readonly Schemas["Policy"][]): Shown[] {
  const named = (id: string): string => policies.find((each) => each.policy_id === id)?.name ?? "";
  const counted = state.windows.map(({ policy_id, ...each }) => ({
    ...each,
    policy: named(policy_id) || each.policy,
  }));
  const isCounted = (policy_id: string, clause: string): boolean =>
    state.windows.some((each) => each.policy_id === policy_id && each.clause === clause);
  const empty = policies
    .filter((policy) => policy.enabled && policy.status === "active")
    .flatMap((policy) =>
      policy.clauses.flatMap(({ name, window, entity_definition_id }) =>
        name != null &&
        window &&
        entity_definition_id === state.entity_definition_id &&
        !isCounted(policy.policy_id, name)
          ? [{ ...window, policy: policy.name, clause: name, value: 0, falls_at: null }]
          : [],
      ),
    );
  return [...counted, ...empty];
}
