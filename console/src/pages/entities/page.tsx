/** Finds an entity by the values of its key. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, body, type Schemas } from "../../api/client";
import { EntityTable } from "../../recorded/entity-rows";
import { useEntityDefinitions } from "../../definitions/objects";
import { bounds, filters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { ChoiceField, TextField } from "../../parts/form";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.entities;
type Definition = Schemas["EntityDefinition"];

export default function EntitiesPage() {
  const { slug } = useTenant();
  const definitions = useEntityDefinitions();
  return (
    <>
      <h1>{text.pages.entities}</h1>
      <Answered of={definitions}>
        {(found) =>
          found[0] ? (
            <LookUp definitions={found} first={found[0]} />
          ) : (
            <p class="card empty">
              {text.entityDefinition.empty}{" "}
              <a href={`/console/${slug}/entity-definitions/new`}>{text.entityDefinition.create}</a>
            </p>
          )
        }
      </Answered>
      <section class="card" aria-labelledby="busiest">
        <h2 id="busiest">{words.busiest}</h2>
        <Busiest />
      </section>
    </>
  );
}

function Busiest() {
  const { tenant_id } = useTenant();
  const query = bounds();
  const found = useQuery({
    queryKey: ["busiest", tenant_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entities/top", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
  return (
    <Answered of={found}>
      {(busiest) => (
        <>
          <p class="quiet">
            {text.entity.lookedAt(busiest.looked_at)} {!busiest.complete && text.traffic.partial}
          </p>
          {busiest.entities.length > 0 && (
            <EntityTable label={words.busiest} rows={busiest.entities} />
          )}
        </>
      )}
    </Answered>
  );
}

function LookUp({ definitions, first }: { definitions: Definition[]; first: Definition }) {
  const { tenant_id, slug } = useTenant();
  const { route } = useLocation();
  const [chosen, choose] = useState(first.entity_definition_id);
  const [key, setKey] = useState<readonly string[]>([filters.value.get("key") ?? ""]);
  const definition = definitions.find((each) => each.entity_definition_id === chosen) ?? first;
  const parts = definition.key_fields.map((_, number) => key[number] ?? "");
  const find = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/entities/find", {
          params: { path: { tenant_id } },
          body: { entity_definition_id: chosen, key: [...parts] },
        }),
      ),
    onSuccess: (entity) => {
      route(`/console/${slug}/entities/${entity.entity_id}`);
    },
  });
  return (
    <form
      class="card narrow"
      aria-label={words.find}
      onSubmit={(event) => {
        event.preventDefault();
        find.mutate();
      }}
    >
      {find.error && <ProblemPanel error={find.error} />}
      <ChoiceField
        label={words.definition}
        value={chosen}
        options={definitions.map((each) => [each.entity_definition_id, marked(each.name)] as const)}
        onChange={(id) => {
          choose(id);
          setKey([]);
        }}
      />
      {definition.key_fields.map((field, number) => (
        <TextField
          key={chosen + String(number)}
          label={marked(field)}
          isRequired
          value={parts[number] ?? ""}
          onChange={(value) => {
            setKey(parts.map((each, at) => (at === number ? value : each)));
          }}
        />
      ))}
      <button class="primary" disabled={find.isPending}>
        {words.find}
      </button>
    </form>
  );
}
