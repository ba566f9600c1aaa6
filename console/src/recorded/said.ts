/** The text of an audit entry, as a sentence after the name of its author. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";

const words = text.audit;
type Entry = Pick<Schemas["AuditEntry"], "action" | "kind" | "before" | "after">;

export function said(entry: Entry): string {
  if (entry.kind === "override") return saidOfOverride(entry);
  if (entry.action === "lift") return saidOfLift(entry);
  const verb = words.verbs[entry.action] ?? entry.action;
  const kind = words.kinds[entry.kind] ?? entry.kind;
  const name = nameOf(entry.after) ?? nameOf(entry.before);
  return name === undefined ? `${verb} ${kind}` : `${verb} ${kind} "${name}"`;
}

/** The name of an object, an email of a member, or undefined. */
function nameOf(object: unknown): string | undefined {
  const { name, email } = (object ?? {}) as { name?: unknown; email?: unknown };
  const found = name ?? email;
  return typeof found === "string" && found !== "" ? found : undefined;
}

function saidOfOverride({ action, before, after }: Entry): string {
  const of = (after ?? before) as Partial<Schemas["Override"]> | null;
  const kind = of?.kind === "ban" ? "ban" : "allow";
  const { said: verbs, verbs: named } = text.overrides;
  // The name of one for an entity begins with what it does.
  const name = (of?.name ?? "").replace(`${named[kind]} `, "");
  const sentence = verbs[action]?.[kind] ?? verbs["update"]?.[kind] ?? "";
  return `${sentence} ${of?.network ?? name}: ${of?.reason ?? ""}`;
}

/** A lift: of an entity, where the entry has its mitigations, else how many were lifted. */
function saidOfLift({ before, after }: Entry): string {
  const held = (Array.isArray(before) ? before : []) as Partial<Schemas["EntityMitigation"]>[];
  const { reason, lifted } = (after ?? {}) as { reason?: string | null; lifted?: number };
  const because = reason ? `: ${reason}` : "";
  const [one] = held;
  if (one?.mode === undefined || held.length > 1)
    return words.lifted(lifted ?? held.length) + because;
  const mode = words.modes[one.mode.toLowerCase() as keyof typeof words.modes];
  return words.liftedOne(mode, (one.key ?? []).join(", ")) + because;
}
