/** A decision: why was this visitor stopped, and what now? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { readExact } from "../../api/exact";
import { usePolicyNames } from "../../definitions/objects";
import { useTenant } from "../../frame/session";
import { Act } from "../../overrides/act";
import { entityTarget, type Target } from "../../overrides/targets";
import { agentOf } from "../../format/agent";
import { Answered } from "../../parts/answer";
import { Badge, type Answer } from "../../parts/badge";
import { Copy } from "../../parts/copy";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Pairs } from "../../parts/pairs";
import { text } from "../../text/en";
import { EntityTimeline } from "../entity/traffic";
import { Explained } from "./explained";
import { WriteTest } from "./write-test";

const words = text.decision;
type Decision = Schemas["Decision"];

export default function DecisionPage() {
  const id = useRoute().params["id"] ?? "";
  const { tenant_id, slug } = useTenant();
  const path = { tenant_id, decision_id: id };
  const decision = useQuery({
    queryKey: ["decision", tenant_id, id],
    queryFn: async () =>
      readExact(
        await body(
          api.GET("/api/v1/tenants/{tenant_id}/decisions/{decision_id}", {
            params: { path },
            parseAs: "text",
          }),
        ),
      ) as Decision,
    staleTime: Infinity,
  });
  return (
    <>
      <p>
        <a href={`/console/${slug}/decisions`}>{words.back}</a>
      </p>
      <Answered of={decision}>
        {(found) => (
          <>
            <Verdict decision={found} />
            <div class="with-aside">
              <section class="card" aria-labelledby="why">
                <h2 id="why">{words.why}</h2>
                <Explained id={id} />
              </section>
              <div>
                <Request decision={found} />
                {found.entities[0] && <LastTraffic entity={found.entities[0]} />}
                <section class="card" aria-labelledby="event">
                  <h2 id="event">{words.event}</h2>
                  <pre>{marked(JSON.stringify(found.event, null, 2))}</pre>
                </section>
              </div>
            </div>
          </>
        )}
      </Answered>
    </>
  );
}

/** The type of an action, which the OpenAPI document only describes as an object. */
function answerOf(action: unknown): Answer {
  return (action as { type: Answer }).type;
}

/** Whom a decision is about: its entities, and the client's address, not that of a proxy. */
function targetsOf(decision: Decision): readonly Target[] {
  const { client_ip } = decision;
  const targets = decision.entities.map(entityTarget);
  if (client_ip !== null) targets.push({ label: client_ip, network: client_ip });
  return targets;
}

/** The members of the recorded request that are shown apart. */
function requestOf(decision: Decision): Partial<Record<"method" | "path" | "client_ip", unknown>> {
  return (decision.event as { request?: object }).request ?? {};
}

/** The user agent of the recorded request; headers are recorded under any case. */
function agentHeader(decision: Decision): string {
  const { headers, user_agent } = requestOf(decision) as Record<string, unknown>;
  const named = Object.entries((headers ?? {}) as Record<string, unknown>);
  const found = named.find(([name]) => name.toLowerCase() === "user-agent")?.[1] ?? user_agent;
  return typeof found === "string" ? found : "";
}

/** The answer, whom it was given, why, and the buttons that change it. */
function Verdict({ decision }: { decision: Decision }) {
  const { slug } = useTenant();
  const { method, path } = requestOf(decision);
  const asked = [method, path].filter((each) => typeof each === "string").join(" ");
  const { policy_id, clause, reason } = decision;
  const policy = usePolicyNames().get(policy_id ?? "") ?? decision.policy;
  const held = reason === "active-mitigation" ? decision.entities[0] : undefined;
  return (
    <header>
      <div class="row spread">
        <h1 class="row">
          <Badge answer={answerOf(decision.action)} />
          <Foreign text={asked || words.noRequest} />
        </h1>
        <div class="row">
          <Act targets={targetsOf(decision)} />
          <WriteTest decision_id={decision.decision_id} />
          {held && (
            <a class="button" href={`/console/${slug}/entities/${held.entity_id}`}>
              {words.lift}
            </a>
          )}
          {policy_id !== null && (
            <a class="button primary" href={`/console/${slug}/policies/${policy_id}`}>
              {words.openPolicy}
            </a>
          )}
        </div>
      </div>
      <p>
        {policy !== null && (
          <>
            <strong>{marked(policy)}</strong>
            {clause !== null && `, ${marked(clause)}`}:{" "}
          </>
        )}
        {text.reasons[reason]}
        <span class="quiet">
          {" · "}
          <Moment at={decision.received_at} />
        </span>
      </p>
    </header>
  );
}

function Request({ decision }: { decision: Decision }) {
  const { slug } = useTenant();
  const { client_ip } = requestOf(decision);
  const seen = decision.client_ip;
  const agent = agentHeader(decision);
  const columns = text.decisions.columns;
  return (
    <section class="card" aria-labelledby="request">
      <h2 id="request">{words.request}</h2>
      <Pairs
        of={[
          [columns.time, <Moment at={decision.received_at} />],
          [
            words.address,
            <>
              {seen !== null && <Foreign text={seen} />}{" "}
              {decision.client_ip_problem !== null &&
                words.noAddress(marked(decision.client_ip_problem))}
              {typeof client_ip === "string" && client_ip !== seen && (
                <span class="quiet">
                  {words.via} <Foreign text={client_ip} />
                </span>
              )}
            </>,
          ],
          [columns.agent, <bdi title={marked(agent)}>{marked(agentOf(agent))}</bdi>],
          ...decision.entities.map(
            (entity) =>
              [
                marked(entity.definition),
                <a href={`/console/${slug}/entities/${entity.entity_id}`}>
                  <Foreign text={entity.key.join(", ") || words.unknown} />
                </a>,
              ] as const,
          ),
          [
            words.reference,
            <>
              <code>{decision.decision_id}</code>{" "}
              <Copy value={decision.decision_id} what={words.reference} />
            </>,
          ],
          [words.revision, decision.revision],
          [words.took, `${decision.duration_us} µs`],
          ...(decision.trace_id === null
            ? []
            : [
                [
                  words.trace,
                  <>
                    <code>{decision.trace_id}</code>{" "}
                    <Copy value={decision.trace_id} what={words.trace} />
                  </>,
                ] as const,
              ]),
        ]}
      />
    </section>
  );
}

/** The decisions for the first entity in the time range. */
function LastTraffic({ entity }: { entity: Decision["entities"][number] }) {
  return (
    <section class="card" aria-labelledby="timeline">
      <h2 id="timeline">
        {marked(entity.definition)}: {text.entity.timeline}
      </h2>
      <EntityTimeline entity_id={entity.entity_id} />
    </section>
  );
}
