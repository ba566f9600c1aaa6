/** The number of changes from each recorded answer to each replayed one. */

import type { Schemas } from "../../api/client";
import { Badge } from "../../parts/badge";
import { Table } from "../../parts/table";
import { text } from "../../text/en";
import { Open, useSummary } from "./groups";

const words = text.replay;
const ANSWERS = ["allow", "challenge", "block"] as const;
type Kind = (typeof ANSWERS)[number];

/** A row for each recorded answer, a column for each replayed one. If not all differences were
 * counted, only the sums are shown, since the unchanged ones aren't known. */
export function Matrix(props: { replay_job_id: string; result: Schemas["ReplayResult"] }) {
  const { recorded, replayed } = props.result;
  const found = useSummary(props.replay_job_id, "action").data;
  const changed = (was: Kind, now: Kind): number =>
    found?.outcomes.find((each) => each.recorded === was && each.replayed === now)?.count ?? 0;
  // Decisions that differ only in their policy count as unchanged.
  const stayed = (was: Kind): number =>
    ANSWERS.reduce<number>(
      (rest, now) => (now === was ? rest : rest - changed(was, now)),
      recorded[was] ?? 0,
    );
  return (
    <Table
      label={words.matrix}
      rows={ANSWERS}
      keyOf={(was) => was}
      columns={[
        { name: words.matrix, cell: (was) => <Badge answer={was} /> },
        ...(found?.complete === true ? ANSWERS : []).map((now) => ({
          name: text.actions[now],
          kind: "number" as const,
          cell: (was: Kind) => {
            if (was === now) return stayed(was);
            const example = found?.groups.find(
              (each) => each.value === `${was} to ${now}`,
            )?.example;
            return (
              <>
                {changed(was, now)} {example !== undefined && <Open decision_id={example} />}
              </>
            );
          },
        })),
        { name: words.recorded, kind: "number", cell: (was) => recorded[was] },
        { name: words.replayed, kind: "number", cell: (was) => replayed[was] },
      ]}
    />
  );
}
