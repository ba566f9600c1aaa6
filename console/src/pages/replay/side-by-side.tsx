/** One decision as it was recorded, and as the draft makes it. */

import { useQuery } from "@tanstack/preact-query";
import { useEffect, useRef } from "preact/hooks";
import { api, body, page, type Schemas } from "../../api/client";
import { setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Badge } from "../../parts/badge";
import { marked } from "../../parts/foreign";
import { Pairs } from "../../parts/pairs";
import { text } from "../../text/en";

const words = text.replay;
type Outcome = Schemas["ReplayedDecision"];

export function SideBySide(props: { replay_job_id: string; decision_id: string }) {
  const { replay_job_id, decision_id } = props;
  const { tenant_id, slug } = useTenant();
  const heading = useRef<HTMLHeadingElement>(null);
  const path = { tenant_id, replay_job_id };
  const found = useQuery({
    queryKey: ["replay-difference", path, decision_id],
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}/differences", {
          params: { path, query: { decision_id } },
        }),
      ),
  });
  useEffect(() => {
    heading.current?.focus();
  }, [decision_id]);
  return (
    <section class="card" aria-labelledby="side-by-side">
      <h2 id="side-by-side" tabIndex={-1} ref={heading}>
        {words.sideBySide}
      </h2>
      <p>
        <a href={`/console/${slug}/decisions/${decision_id}`}>
          <code>{decision_id}</code>
        </a>{" "}
        <button
          type="button"
          onClick={() => {
            setFilters({ open: "" });
          }}
        >
          {words.close}
        </button>
      </p>
      <Answered of={found}>
        {({ rows: [difference] }) =>
          difference ? (
            <div class="cards">
              <Side title={words.recorded} outcome={difference.recorded} />
              <Side title={words.replayed} outcome={difference.replayed} />
            </div>
          ) : (
            <p>{words.none}</p>
          )
        }
      </Answered>
      <Event decision_id={decision_id} />
    </section>
  );
}

function Side({ title, outcome }: { title: string; outcome: Outcome }) {
  return (
    <section class="card" aria-label={title}>
      <h3>{title}</h3>
      <Pairs
        of={[
          [text.decisions.columns.action, <Badge answer={outcome.action} />],
          [text.decisions.columns.reason, text.reasons[outcome.reason]],
          [text.decisions.columns.policy, marked(outcome.policy ?? words.nothing)],
          [text.policy.clause, marked(outcome.clause ?? words.nothing)],
          [text.policy.mitigation, marked(outcome.mitigation ?? words.nothing)],
        ]}
      />
    </section>
  );
}

function Event({ decision_id }: { decision_id: string }) {
  const { tenant_id } = useTenant();
  const decision = useQuery({
    queryKey: ["decision", tenant_id, decision_id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/decisions/{decision_id}", {
          params: { path: { tenant_id, decision_id } },
        }),
      ),
  });
  return (
    <Answered of={decision}>
      {({ event }) => (
        <details>
          <summary>{text.decision.event}</summary>
          <pre>{marked(JSON.stringify(event, null, 2))}</pre>
        </details>
      )}
    </Answered>
  );
}
