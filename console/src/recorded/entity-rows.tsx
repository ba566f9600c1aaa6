/** Entities as table rows: the entity, its events, and the answers. */

import type { Schemas } from "../api/client";
import { Foreign, marked } from "../parts/foreign";
import { Moment } from "../parts/moment";
import { Table } from "../parts/table";
import { text } from "../text/en";
import { useTenant } from "../frame/session";

const words = text.entity;

export function EntityTable(props: { label: string; rows: readonly Schemas["EntityTraffic"][] }) {
  const { slug } = useTenant();
  return (
    <Table
      {...props}
      keyOf={(row) => row.entity_id}
      columns={[
        {
          name: words.title,
          kind: "text",
          cell: (row) => (
            <a href={`/console/${slug}/entities/${row.entity_id}`}>
              {marked(row.definition)}: <Foreign text={row.key.join(", ")} />
            </a>
          ),
        },
        { name: words.events, kind: "number", cell: (row) => row.events },
        { name: text.overview.challenged, kind: "number", cell: (row) => row.challenge },
        { name: text.overview.blocked, kind: "number", cell: (row) => row.block },
        { name: words.last, cell: (row) => <Moment at={row.last_seen_at} /> },
      ]}
    />
  );
}
