/** What an entry of the audit says about a ban or an exemption, as a sentence. */

import type { Schemas } from "../api/client";
import { text } from "../text/en";

const words = text.overrides;

export function said(entry: Pick<Schemas["AuditEntry"], "action" | "before" | "after">): string {
  const of = (entry.after ?? entry.before) as Partial<Schemas["Override"]> | null;
  const kind = of?.kind === "ban" ? "ban" : "allow";
  // The name of one for an entity begins with what it does.
  const name = (of?.name ?? "").replace(`${words.verbs[kind]} `, "");
  const target = of?.network ?? name;
  const sentence = words.said[entry.action]?.[kind] ?? words.said["update"]?.[kind] ?? "";
  return `${sentence} ${target}: ${of?.reason ?? ""}`;
}
