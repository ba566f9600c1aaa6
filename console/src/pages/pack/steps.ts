/** The steps of a pack, shown or made. */

import { api, body, type Schemas } from "../../api/client";

export type Step = "add" | "update" | "remove";
export type Slots = Readonly<Record<string, string>>;

interface Asked {
  tenant_id: string;
  pack: string;
  step: Step;
  slots: Slots;
  /** The revision that was previewed; null to preview. */
  revision: number | null;
}

export function take(asked: Asked): Promise<Schemas["PackChanges"]> {
  const { tenant_id, pack, step, slots, revision } = asked;
  const init = {
    params: { path: { tenant_id, pack }, query: { dry_run: revision === null } },
    headers: revision === null ? {} : { "if-match": `"${revision}"` },
  };
  if (step === "add")
    return body(
      api.POST("/api/v1/tenants/{tenant_id}/packs/{pack}/add", { ...init, body: { slots } }),
    );
  if (step === "update")
    return body(api.POST("/api/v1/tenants/{tenant_id}/packs/{pack}/update", init));
  return body(api.POST("/api/v1/tenants/{tenant_id}/packs/{pack}/remove", init));
}

export interface Matched {
  slot: string;
  matched: number;
  looked_at: number;
}

const NEWEST = 10_000;

/** The recent events that each slot matches, one after the other: an operator has one look at a
 * time. */
export async function matches(tenant_id: string, slots: Slots): Promise<Matched[]> {
  const found: Matched[] = [];
  for (const [slot, expression] of Object.entries(slots)) {
    const { matched, looked_at } = await body(
      api.POST("/api/v1/tenants/{tenant_id}/traffic/match", {
        params: { path: { tenant_id } },
        body: { expression, purpose: "action", newest: NEWEST, samples: 0 },
      }),
    );
    found.push({ slot, matched, looked_at });
  }
  return found;
}
