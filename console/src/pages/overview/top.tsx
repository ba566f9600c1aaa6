/** The busiest entities, paths and countries of the newest traffic. */

import { useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../../api/client";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign } from "../../parts/foreign";
import { EntityTable } from "../../recorded/entity-rows";
import { text } from "../../text/en";
import { useStatus } from "./status";

const words = text.overview;
const SHOWN = 6;
const NEWEST = 10_000;
const FRESH_MS = 60_000;
const COUNTRY = "derived.country";
const FIELDS = ["request.path", COUNTRY] as const;
type Facet = Schemas["Facet"];

function useEntities() {
  const { tenant_id } = useTenant();
  const query = bounds();
  return useQuery({
    queryKey: ["busiest", tenant_id, query],
    staleTime: FRESH_MS,
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entities/top", {
          params: { path: { tenant_id }, query },
          signal,
        }),
      ),
  });
}

export function TopEntities() {
  const found = useEntities();
  return (
    <section class="card" aria-labelledby="entities">
      <h2 id="entities">{words.entities}</h2>
      <Answered of={found}>
        {({ entities }) =>
          entities.length === 0 ? (
            <p class="quiet">{text.decisions.empty}</p>
          ) : (
            <EntityTable label={words.entities} rows={entities.slice(0, SHOWN)} />
          )
        }
      </Answered>
    </section>
  );
}

export function TopValues() {
  const { tenant_id, slug } = useTenant();
  const query = bounds();
  const isEarlierDone = !useEntities().isPending;
  const found = useQuery({
    queryKey: ["values", tenant_id, query],
    // An operator can search traffic once at a time.
    enabled: isEarlierDone,
    staleTime: FRESH_MS,
    queryFn: ({ signal }) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/traffic/facets", {
          params: { path: { tenant_id } },
          body: { ...query, fields: [...FIELDS], top: SHOWN, newest: NEWEST },
          signal,
        }),
      ),
  });
  return (
    <div class="cards pair">
      {FIELDS.map((field) => (
        <section class="card" aria-labelledby={field} key={field}>
          <h2 id={field}>{words.fields[field]}</h2>
          <Answered of={found}>
            {({ facets, matched }) => (
              <Values
                facet={facets.find((each) => each.expression === field)}
                of={matched}
                traffic={`/console/${slug}/traffic`}
              />
            )}
          </Answered>
        </section>
      ))}
    </div>
  );
}

function Values(props: { facet: Facet | undefined; of: number; traffic: string }) {
  const { facet, of } = props;
  const { data } = useStatus();
  const isLocated = data?.address_databases.some(({ fields }) => fields.includes(COUNTRY));
  const shown = facet?.values.filter((each) => each.value !== "") ?? [];
  if (!facet || shown.length === 0)
    return (
      <p class="quiet">
        {facet?.expression === COUNTRY && isLocated === false
          ? words.noCountries
          : text.decisions.empty}
      </p>
    );
  return (
    <ul class="facet">
      {shown.map(({ value, literal, count }) => (
        <li key={String(value)}>
          {literal === null ? (
            <Foreign text={String(value)} />
          ) : (
            <a
              href={`${props.traffic}#${new URLSearchParams({
                expression: `${facet.expression} == ${literal}`,
              }).toString()}`}
            >
              <Foreign text={String(value)} />
            </a>
          )}
          <span>{count}</span>
          <meter min={0} max={of} value={count} aria-hidden="true" />
        </li>
      ))}
    </ul>
  );
}
