/** The events that the draft's entity definitions applied to, and policies that couldn't fire. */

import type { Schemas } from "../../api/client";
import { marked } from "../../parts/foreign";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.replay;

export function LeftOut({ result }: { result: Schemas["ReplayResult"] }) {
  const { entities = [], could_not_fire = [] } = result;
  return (
    <>
      {entities.length > 0 && (
        <Table
          label={words.entities}
          rows={entities}
          keyOf={(row) => row.entity}
          columns={[
            { name: words.entity, cell: (row) => <code>{marked(row.entity)}</code> },
            { name: words.applied, kind: "number", cell: (row) => row.applied },
            { name: words.notApplied, kind: "number", cell: (row) => row.not_applied },
            {
              name: words.because,
              cell: (row) =>
                row.why.map((each) => (
                  <div key={each.reason}>
                    {marked(each.reason)}: {words.ofLookedAt(each.events, row.looked_at)}
                  </div>
                )),
            },
          ]}
        />
      )}
      {could_not_fire.length > 0 && (
        <Table
          label={words.couldNotFire}
          rows={could_not_fire}
          keyOf={(row) => row.policy}
          columns={[
            { name: words.couldNotFire, cell: (row) => <code>{marked(row.policy)}</code> },
            { name: words.because, cell: (row) => marked(row.because) },
          ]}
        />
      )}
    </>
  );
}
