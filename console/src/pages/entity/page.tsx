/** Who is it, and what is held against it? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { answerOfMode, Badge } from "../../parts/badge";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
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
        <dl class="pairs">
          <dt>{words.events}</dt>
          <dd>{state.event_count}</dd>
          <dt>{words.first}</dt>
          <dd>
            <Moment at={state.first_seen_at} />
          </dd>
          <dt>{words.last}</dt>
          <dd>
            <Moment at={state.last_seen_at} />
          </dd>
        </dl>
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
