/** An entity: who is it, and why is it limited? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Act } from "../../overrides/act";
import { entityTarget } from "../../overrides/targets";
import { Answered } from "../../parts/answer";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Pairs } from "../../parts/pairs";
import { text } from "../../text/en";
import { Mitigations } from "./mitigations";
import { Traffic } from "./traffic";
import { Windows } from "./windows";

const words = text.entity;
type State = Schemas["EntityState"];

export default function EntityPage() {
  const { tenant_id } = useTenant();
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
      <Answered of={found}>{(state) => <Shown state={state} />}</Answered>
      <Traffic entity_id={entity_id} />
    </>
  );
}

function Shown({ state }: { state: State }) {
  return (
    <>
      <header>
        <div class="row spread">
          <h2>
            {marked(state.definition)}: <Foreign text={state.key.join(", ")} />
          </h2>
          <Act targets={[entityTarget(state)]} />
        </div>
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
