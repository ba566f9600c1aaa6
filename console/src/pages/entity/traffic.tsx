/** The events of an entity in the time range: decisions over time, and other entities in them. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { Problem } from "../../api/problem";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Answers } from "../../recorded/over-time";
import { EntityTable } from "../../recorded/entity-rows";
import { text } from "../../text/en";

const words = text.entity;

/** The decisions for an entity in the time range, step by step, with other entities in its events. */
function useTogether(entity_id: string) {
  const { tenant_id } = useTenant();
  const query = bounds();
  return useQuery({
    queryKey: ["together", tenant_id, entity_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entities/{entity_id}/together", {
          params: { path: { tenant_id, entity_id }, query },
        }),
      ).catch(nothingFound),
  });
}

export function EntityTimeline({ entity_id }: { entity_id: string }) {
  const { slug } = useTenant();
  const found = useTogether(entity_id);
  return (
    <Answered of={found} waiting={<div class="plot" />}>
      {(traffic) =>
        traffic === null ? (
          <p class="quiet">{words.noEvents}</p>
        ) : (
          <>
            <Answers steps={traffic.timeline} filters={{ entity: entity_id }} />
            <p class="quiet">
              {words.lookedAt(traffic.looked_at)} {!traffic.complete && text.traffic.partial}{" "}
              <a href={`/console/${slug}/decisions#entity=${entity_id}`}>{words.decisions}</a>
            </p>
          </>
        )
      }
    </Answered>
  );
}

export function Traffic({ entity_id }: { entity_id: string }) {
  const found = useTogether(entity_id);
  return (
    <>
      <section class="card" aria-labelledby="timeline">
        <h2 id="timeline">{words.timeline}</h2>
        <EntityTimeline entity_id={entity_id} />
      </section>
      <section class="card" aria-labelledby="together">
        <h2 id="together">{words.together}</h2>
        {found.data?.entities.length === 0 && <p class="quiet">{words.alone}</p>}
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
