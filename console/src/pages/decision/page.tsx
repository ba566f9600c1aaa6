/** A decision: why was this visitor stopped, and what now? */

import { useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, type Schemas } from "../../api/client";
import { readExact } from "../../api/exact";
import { useTenant } from "../../frame/session";
import { Act } from "../../overrides/act";
import { entityTarget, type Target } from "../../overrides/targets";
import { Answered } from "../../parts/answer";
import { Badge, type Answer } from "../../parts/badge";
import { Copy } from "../../parts/copy";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";
import { Explained } from "./explained";

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
            <Head decision={found} />
            <Act targets={targetsOf(found)} />
            <div class="cards">
              <section class="card" aria-labelledby="why">
                <h2 id="why">{words.why}</h2>
                <Explained id={id} />
              </section>
              <section class="card" aria-labelledby="event">
                <h2 id="event">{words.event}</h2>
                <pre>{marked(JSON.stringify(found.event, null, 2))}</pre>
                <Entities decision={found} />
              </section>
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

/** Whom a decision is about: its entities, and the address that the event names. */
function targetsOf(decision: Decision): readonly Target[] {
  const { client_ip } = (decision.event as { request?: { client_ip?: unknown } }).request ?? {};
  const targets = decision.entities.map(entityTarget);
  if (typeof client_ip === "string" && client_ip !== "")
    targets.push({ label: client_ip, network: client_ip });
  return targets;
}

function Head({ decision }: { decision: Decision }) {
  const action = answerOf(decision.action);
  const policy = decision.policy;
  return (
    <header>
      <h1 class="row">
        <Badge answer={action} />
        <span>
          {policy === null ? text.reasons[decision.reason] : marked(policy)}
          {decision.clause !== null && `, ${marked(decision.clause)}`}
        </span>
      </h1>
      <dl class="pairs">
        <dt>{text.decisions.columns.time}</dt>
        <dd>
          <Moment at={decision.received_at} />
        </dd>
        <dt>{text.decisions.columns.reason}</dt>
        <dd>{text.reasons[decision.reason]}</dd>
        {decision.client_ip !== null && (
          <>
            <dt>{words.address}</dt>
            <dd>
              <Foreign text={decision.client_ip} />
            </dd>
          </>
        )}
        {decision.client_ip_problem !== null && (
          <>
            <dt>{words.address}</dt>
            <dd>{words.noAddress(marked(decision.client_ip_problem))}</dd>
          </>
        )}
        <dt>{words.reference}</dt>
        <dd>
          <code>{decision.decision_id}</code>{" "}
          <Copy value={decision.decision_id} what={words.reference} />
        </dd>
        <dt>{words.revision}</dt>
        <dd>{decision.revision}</dd>
        <dt>{words.took}</dt>
        <dd>{decision.duration_us} µs</dd>
      </dl>
    </header>
  );
}

function Entities({ decision }: { decision: Decision }) {
  const { slug } = useTenant();
  if (decision.entities.length === 0) return null;
  return (
    <>
      <h2>{words.entities}</h2>
      <ul class="tree">
        {decision.entities.map((entity) => (
          <li>
            {marked(entity.definition)}:{" "}
            <a href={`/console/${slug}/entities/${entity.entity_id}`}>
              <Foreign text={entity.key.join(", ") || words.unknown} />
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
