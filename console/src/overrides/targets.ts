/** Whom a ban or an exemption is for: an address, a network, or an entity. */

import { text } from "../text/en";

export type Kind = "ban" | "allow";

export interface Target {
  /** Its name among the others. */
  label: string;
  network?: string;
  entity_id?: string;
}

const MOST = 200;
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

export function entityTarget(of: {
  definition: string;
  entity_id: string;
  key: readonly (string | number | boolean)[];
}): Target {
  return { label: `${of.definition}: ${of.key.join(", ")}`, entity_id: of.entity_id };
}

/** The name of an override for a target, as the service takes it. */
export function nameFor(kind: Kind, target: Target): string {
  const name = `${text.overrides.verbs[kind]} ${target.label}`.replace(UNSEEN, "?");
  return Array.from(name).slice(0, MOST).join("");
}
