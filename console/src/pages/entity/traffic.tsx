/** The events of an entity in the time range: decisions over time, and other entities in them. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { Problem } from "../../api/problem";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Counts } from "../../parts/counts";
import { EntityTable } from "../../recorded/entity-rows";
import { text } from "../../text/en";

const words = text.entity;

export function Traffic({ entity_id }: { entity_id: string }) {
  const { tenant_id, slug } = useTenant();
  const query = bounds();
  const found = useQuery({
    queryKey: ["together", tenant_id, entity_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entities/{entity_id}/together", {
          params: { path: { tenant_id, entity_id }, query },
        }),
      ).catch(nothingFound),
  });
  return (
    <>
      <section class="card" aria-labelledby="timeline">
        <h2 id="timeline">{words.timeline}</h2>
        <p>
          <a href={`/console/${slug}/decisions#entity=${entity_id}`}>{words.decisions}</a>
        </p>
        <Answered of={found}>
          {(traffic) =>
            traffic === null ? (
              <p>{words.noEvents}</p>
            ) : (
              <>
                <p class="quiet">
                  {words.lookedAt(traffic.looked_at)} {!traffic.complete && text.traffic.partial}
                </p>
                <Counts steps={traffic.timeline} />
              </>
            )
          }
        </Answered>
      </section>
      <section class="card" aria-labelledby="together">
        <h2 id="together">{words.together}</h2>
        {found.data?.entities.length === 0 && <p>{words.alone}</p>}
        {found.data && found.data.entities.length > 0 && (
          <EntityTable label={words.together} rows={found.data.entities} />
        )}
      </section>
    </>
  );
}

/** Shown if no event in the time range has the entity, which isn't an error. */
function nothingFound(error: unknown): null {
  if (error instanceof Problem && error.status === 404) return null;
  throw error;
}
