/** Finds the definitions that read a field. */

import { useMemo } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { useActions, useEntityDefinitions, usePolicies } from "../../definitions/objects";
import { nameOf, readsOf } from "./reads";

export interface Use {
  name: string;
  /** Below the tenant. */
  path: string;
}

/** The definitions that read the field of a text; empty until they are loaded. */
export function useUsage(): (field: string) => readonly Use[] {
  const policies = usePolicies().data;
  const actions = useActions().data;
  const definitions = useEntityDefinitions().data;
  const uses = useMemo(
    () => usesOf(policies ?? [], actions ?? [], definitions ?? []),
    [policies, actions, definitions],
  );
  return (field) => uses.get(nameOf(field) ?? "") ?? [];
}

function usesOf(
  policies: readonly Schemas["Policy"][],
  actions: readonly Schemas["Action"][],
  definitions: readonly Schemas["EntityDefinition"][],
): ReadonlyMap<string, readonly Use[]> {
  const found = new Map<string, Use[]>();
  const add = (use: Use, texts: readonly (string | null | undefined)[]): void => {
    const names = new Set(texts.flatMap((text) => (text ? [...readsOf(text)] : [])));
    for (const name of names) found.set(name, [...(found.get(name) ?? []), use]);
  };
  const slugs = new Map(actions.map((each) => [each.action_id, each.slug]));
  for (const policy of policies) {
    add({ name: policy.name, path: `policies/${policy.policy_id}` }, [
      policy.expression,
      ...policy.clauses.flatMap(({ expression, window, action_ids }) => [
        expression,
        window?.field,
        ...(action_ids ?? []).map((id) => `actions.${slugs.get(id) ?? ""}`),
      ]),
    ]);
  }
  for (const action of actions)
    add({ name: action.name, path: `actions/${action.action_id}` }, [action.expression]);
  for (const { name, entity_definition_id, key_fields } of definitions)
    add({ name, path: `entity-definitions/${entity_definition_id}` }, key_fields);
  return found;
}
