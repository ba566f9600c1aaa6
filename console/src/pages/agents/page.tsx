/** Agents: who came, how was it proven, and what was decided? */

import { useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../../api/client";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.agents;
type Agent = Schemas["AgentTraffic"];

function useAgents() {
  const { tenant_id } = useTenant();
  const query = bounds();
  return useQuery({
    queryKey: ["agents", tenant_id, query],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/agents", {
          params: { path: { tenant_id }, query },
          signal,
        }),
      ),
  });
}

export default function AgentsPage() {
  const found = useAgents();
  return (
    <>
      <h1>{text.pages.agents}</h1>
      <Answered of={found}>
        {(of) => (
          <>
            <p class="quiet">
              {text.entity.lookedAt(of.looked_at)} {!of.complete && text.traffic.partial}{" "}
              {of.failed > 0 && words.failed(of.failed)}{" "}
              {of.distinct > of.agents.length && words.first(of.agents.length, of.distinct)}
            </p>
            <Agents
              id="imitators"
              title={words.imitators}
              about={words.imitatorsAbout}
              empty={words.noImitators}
              rows={of.agents.filter((each) => each.imitates)}
            />
            <Agents
              id="others"
              title={words.others}
              about={words.othersAbout}
              empty={words.noOthers}
              rows={of.agents.filter((each) => !each.imitates)}
            />
          </>
        )}
      </Answered>
    </>
  );
}

function Agents(props: {
  id: string;
  title: string;
  about: string;
  empty: string;
  rows: readonly Agent[];
}) {
  const { slug } = useTenant();
  return (
    <section class="card" aria-labelledby={props.id}>
      <h2 id={props.id}>{props.title}</h2>
      <p class="quiet">{props.rows.length > 0 ? props.about : props.empty}</p>
      {props.rows.length > 0 && (
        <Table
          label={props.title}
          rows={props.rows}
          keyOf={({ proof, imitates, product, operator, claims }) =>
            JSON.stringify([proof, imitates, product, operator, claims])
          }
          columns={columnsOf(`/console/${slug}`)}
        />
      )}
    </section>
  );
}

function columnsOf(base: string): readonly Column<Agent>[] {
  const asked = (expression: string) => new URLSearchParams({ expression }).toString();
  return [
    {
      name: words.agent,
      kind: "text",
      cell: (row) => {
        const name = <Foreign text={row.product || row.claims || words.unknown} />;
        return (
          <>
            {row.expression === null ? (
              name
            ) : (
              <a href={`${base}/traffic#${asked(row.expression)}`}>{name}</a>
            )}
            {row.product && row.claims && row.claims !== row.product && (
              <>
                {" "}
                {words.claims} <Foreign text={row.claims} />
              </>
            )}
          </>
        );
      },
    },
    {
      name: words.proof,
      kind: "text",
      cell: (row) =>
        [
          words.proofs[row.proof],
          row.invalid_signatures > 0 && words.invalidSignatures(row.invalid_signatures),
        ]
          .filter(Boolean)
          .join(", "),
    },
    { name: text.entity.events, kind: "number", cell: (row) => row.events },
    { name: text.overview.challenged, kind: "number", cell: (row) => row.challenge },
    { name: text.overview.blocked, kind: "number", cell: (row) => row.block },
    { name: words.operator, kind: "text", cell: (row) => <Foreign text={row.operator} /> },
    { name: words.purpose, cell: (row) => words.purposes[row.purpose] ?? row.purpose },
    { name: text.entity.last, cell: (row) => <Moment at={row.last_seen_at} /> },
    {
      name: words.policy,
      cell: (row) =>
        row.expression !== null && (
          <a href={`${base}/policies/new#${asked(row.expression)}`}>{text.traffic.makePolicy}</a>
        ),
    },
  ];
}
