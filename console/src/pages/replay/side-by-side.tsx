/** One decision as recorded, next to the draft's decision. */

import { useQuery } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, body, page, type Schemas } from "../../api/client";
import { setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Badge } from "../../parts/badge";
import { marked } from "../../parts/foreign";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { Explained, ExplainedDraft } from "../decision/explained";

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
          difference ? <Both difference={difference} /> : <p>{words.none}</p>
        }
      </Answered>
      <Reasons key={`recorded-${decision_id}`} summary={words.whyRecorded}>
        {() => <Explained id={decision_id} />}
      </Reasons>
      <Reasons key={`replayed-${decision_id}`} summary={words.whyReplayed}>
        {() => <ExplainedDraft replay_job_id={replay_job_id} decision_id={decision_id} />}
      </Reasons>
      <Event decision_id={decision_id} />
    </section>
  );
}

/** Both outcomes member by member, with a mark where they differ. */
function Both({ difference }: { difference: Schemas["ReplayDifference"] }) {
  const { recorded, replayed } = difference;
  return (
    <Table
      label={words.both}
      rows={MEMBERS}
      keyOf={([, member]) => member}
      columns={[
        { name: "", cell: ([name]) => name },
        ...Object.entries({ recorded, replayed }).map(([side, outcome]) => ({
          name: words[side as "recorded" | "replayed"],
          kind: "text" as const,
          cell: ([, , show]: Member) => show(outcome),
        })),
        {
          name: words.different,
          cell: ([, member]) =>
            recorded[member] === replayed[member] ? (
              <span class="quiet">{words.same}</span>
            ) : (
              <strong>{words.differs}</strong>
            ),
        },
      ]}
    />
  );
}

type Member = readonly [string, keyof Outcome, (outcome: Outcome) => ComponentChildren];
const MEMBERS: readonly Member[] = [
  [text.decisions.columns.action, "action", ({ action }) => <Badge answer={action} />],
  [text.decisions.columns.reason, "reason", ({ reason }) => text.reasons[reason]],
  [text.decisions.columns.policy, "policy", ({ policy }) => marked(policy ?? words.nothing)],
  [text.policy.clause, "clause", ({ clause }) => marked(clause ?? words.nothing)],
  [text.policy.mitigation, "mitigation", (of) => marked(of.mitigation ?? words.nothing)],
];

/** The explanation by policy and clause, loaded when opened. */
function Reasons(props: { summary: string; children: () => ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details
      onToggle={(event) => {
        setIsOpen(event.currentTarget.open);
      }}
    >
      <summary>{props.summary}</summary>
      {isOpen && props.children()}
    </details>
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
