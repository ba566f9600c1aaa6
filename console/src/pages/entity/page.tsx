/** Who is it, and what is held against it? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { Problem } from "../../api/problem";
import { EntityTable } from "../../recorded/entity-rows";
import { bounds } from "../../frame/place";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { answerOfMode, Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Pairs } from "../../parts/pairs";
import { ProblemPanel } from "../../parts/problem";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { useLift } from "../active/page";

const words = text.entity;
type State = Schemas["EntityState"];

export default function EntityPage() {
  const { tenant_id, slug } = useTenant();
  const entity_id = useRoute().params["id"] ?? "";
  const found = useQuery({
    queryKey: ["entity", tenant_id, entity_id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entities/{entity_id}/state", {
          params: { path: { tenant_id, entity_id } },
        }),
      ),
  });
  return (
    <>
      <h1>{words.title}</h1>
      <p>
        <a href={`/console/${slug}/decisions#entity=${entity_id}`}>{words.decisions}</a>
      </p>
      <Answered of={found}>{(state) => <Shown state={state} />}</Answered>
      <section class="card" aria-labelledby="together">
        <h2 id="together">{words.together}</h2>
        <Together entity_id={entity_id} />
      </section>
    </>
  );
}

function Shown({ state }: { state: State }) {
  return (
    <>
      <header>
        <h2>
          {marked(state.definition)}: <Foreign text={state.key.join(", ")} />
        </h2>
        <Pairs
          of={[
            [words.events, state.event_count],
            [words.first, <Moment at={state.first_seen_at} />],
            [words.last, <Moment at={state.last_seen_at} />],
          ]}
        />
      </header>
      <div class="cards">
        <section class="card" aria-labelledby="mitigations">
          <h2 id="mitigations">{words.mitigations}</h2>
          <Mitigations state={state} />
        </section>
        <section class="card" aria-labelledby="windows">
          <h2 id="windows">{words.windows}</h2>
          <Windows state={state} />
        </section>
      </div>
    </>
  );
}

function Mitigations({ state }: { state: State }) {
  const { tenant_id } = useTenant();
  const lift = useLift(tenant_id);
  if (state.active_mitigations.length === 0) return <p>{words.free}</p>;
  return (
    <>
      {lift.error && <ProblemPanel error={lift.error} />}
      <Table
        label={words.mitigations}
        rows={state.active_mitigations}
        keyOf={(each) => each.policy_id + each.clause}
        columns={[
          {
            name: text.active.mode,
            cell: (each) => <Badge answer={answerOfMode(each.mode)} />,
          },
          {
            name: text.active.policy,
            cell: (each) => `${marked(each.policy)}, ${marked(each.clause)}`,
          },
          { name: text.active.until, cell: (each) => <Moment at={each.expires_at} /> },
          {
            name: text.active.lift,
            cell: (each) => (
              <RoleButton
                needs="Admin"
                isBusy={lift.isPending}
                onClick={() => {
                  lift.mutate(each);
                }}
              >
                {text.active.lift}
              </RoleButton>
            ),
          },
        ]}
      />
    </>
  );
}

function Windows({ state }: { state: State }) {
  if (state.windows.length === 0) return <p>{words.noWindows}</p>;
  return (
    <ul class="tree">
      {state.windows.map((each) => (
        <li key={each.policy_id + each.clause}>
          <label>
            {marked(each.policy)}, {marked(each.clause)}: {each.value} / {each.threshold}{" "}
            <meter min={0} max={each.threshold} value={each.value} />
          </label>
        </li>
      ))}
    </ul>
  );
}

/** The entities that are in the same events, of the time range. */
function Together({ entity_id }: { entity_id: string }) {
  const { tenant_id } = useTenant();
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
    <Answered of={found}>
      {(together) =>
        together === null ? (
          <p>{words.noEvents}</p>
        ) : (
          <>
            <p class="quiet">
              {words.lookedAt(together.looked_at)} {!together.complete && text.traffic.partial}
            </p>
            {together.entities.length > 0 && (
              <EntityTable label={words.together} rows={together.entities} />
            )}
          </>
        )
      }
    </Answered>
  );
}

/** No event of the time range has the entity: that is an answer. */
function nothingFound(error: unknown): null {
  if (error instanceof Problem && error.status === 404) return null;
  throw error;
}
