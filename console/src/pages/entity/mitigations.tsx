/** The active mitigations of an entity; each can be lifted. */

import type { Schemas } from "../../api/client";
import { answerOfMode, Badge } from "../../parts/badge";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { Lift } from "../active/lift";

const words = text.active;

export function Mitigations({ state }: { state: Schemas["EntityState"] }) {
  if (state.active_mitigations.length === 0) return <p>{text.entity.free}</p>;
  return (
    <Table
      label={text.entity.mitigations}
      rows={state.active_mitigations}
      keyOf={(each) => each.policy_id + each.clause}
      columns={[
        { name: words.mode, cell: (each) => <Badge answer={answerOfMode(each.mode)} /> },
        {
          name: words.policy,
          cell: (each) => `${marked(each.policy)}, ${marked(each.clause)}`,
        },
        { name: words.until, cell: (each) => <Moment at={each.expires_at} /> },
        { name: words.lift, cell: (each) => <Lift row={each} /> },
      ]}
    />
  );
}
