/** The quality of a key, measured on recorded events; the verdict comes first. */

import { useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../../api/client";
import { bounds } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign, marked } from "../../parts/foreign";
import { Pairs } from "../../parts/pairs";
import { Table } from "../../parts/table";
import { PERCENT } from "../../format/percent";
import { text } from "../../text/en";

const words = text.keyHealth;
const NEWEST = 100_000;
type Health = Schemas["KeyHealth"];

export function KeyDoctor({ entity_definition_id }: { entity_definition_id: string }) {
  const { tenant_id } = useTenant();
  const query = { ...bounds(), newest: NEWEST };
  const found = useQuery({
    queryKey: ["key-health", tenant_id, entity_definition_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/entity-definitions/{entity_definition_id}/health", {
          params: { path: { tenant_id, entity_definition_id }, query },
        }),
      ),
  });
  return (
    <section class="card" aria-labelledby="health">
      <h2 id="health">{words.title}</h2>
      <Answered of={found}>{(health) => <Shown health={health} />}</Answered>
    </section>
  );
}

function Shown({ health }: { health: Health }) {
  return (
    <>
      <p>
        <strong>{marked(health.verdict)}</strong>
      </p>
      {health.findings.length > 1 && (
        <ul>
          {health.findings.slice(1).map((each) => (
            <li key={each.code}>{marked(each.detail)}</li>
          ))}
        </ul>
      )}
      <Pairs
        of={[
          [words.events, words.of(health.matched, health.looked_at, health.complete)],
          [words.missing, health.missing],
          [words.notApplicable, health.not_applicable],
          [words.distinct, health.distinct],
          [words.largest, share(health.largest_share)],
          [words.newcomers, Math.round(health.newcomers_an_hour ?? 0)],
          [words.life, seconds(health.life_seconds)],
          [words.window, seconds(health.window_seconds)],
          [words.memory, words.kilobytes(health.memory_bytes)],
        ]}
      />
      <Table
        label={words.parts}
        rows={health.parts}
        keyOf={(part) => part.expression}
        columns={[
          {
            name: words.part,
            kind: "text",
            cell: (part) => <Foreign text={part.expression} />,
          },
          { name: text.catalog.fill, kind: "number", cell: (part) => share(part.fill_rate) },
          { name: text.catalog.distinct, kind: "number", cell: (part) => part.distinct },
          { name: words.failed, kind: "number", cell: (part) => part.failed },
        ]}
      />
      <Groups health={health} />
    </>
  );
}

function Groups({ health }: { health: Health }) {
  if (health.matched === 0) return null;
  return (
    <>
      <Table
        label={words.groups}
        rows={health.largest}
        keyOf={(group) => JSON.stringify(group.key)}
        columns={[
          {
            name: words.groups,
            kind: "text",
            cell: (group) => <Foreign text={group.key.join(", ") || text.traffic.blank} />,
          },
          { name: words.events, kind: "number", cell: (group) => group.events },
        ]}
      />
      {health.beside.length > 0 && (
        <Table
          label={words.beside}
          rows={health.beside}
          keyOf={(other) => other.definition}
          columns={[
            { name: words.beside, kind: "text", cell: (other) => marked(other.definition) },
            { name: words.aKey, kind: "number", cell: (other) => half(other.median, other.p99) },
            {
              name: words.anOther,
              kind: "number",
              cell: (other) => half(other.reverse_median, other.reverse_p99),
            },
          ]}
        />
      )}
    </>
  );
}

function share(rate: number | null): string {
  return rate === null ? "" : PERCENT.format(rate);
}

function seconds(count: number | null): string {
  return count === null ? "" : `${Math.round(count)} s`;
}

function half(median: number, p99: number): string {
  return `${median} / ${p99}`;
}
