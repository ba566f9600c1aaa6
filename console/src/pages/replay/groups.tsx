/** Common values of the decisions that differ. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { filters, setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign } from "../../parts/foreign";
import { ChoiceField } from "../../parts/form";
import { Table } from "../../parts/table";
import { text } from "../../text/en";

const words = text.replay;
const BY = (["policy", "action", "path", "country", "agent", "entity"] as const).map(
  (by) => [by, words.by[by]] as const,
);

type Member = (typeof BY)[number][0];

export function useSummary(replay_job_id: string, by: Member) {
  const { tenant_id } = useTenant();
  return useQuery({
    queryKey: ["replay-groups", tenant_id, replay_job_id, by],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}/differences/summary", {
          params: { path: { tenant_id, replay_job_id }, query: { by } },
        }),
      ),
  });
}

export function Groups({ replay_job_id }: { replay_job_id: string }) {
  const by = BY.map(([each]) => each).find((each) => each === filters.value.get("by")) ?? "policy";
  const found = useSummary(replay_job_id, by);
  return (
    <>
      <ChoiceField
        isNarrow
        label={words.groupBy}
        value={by}
        options={BY}
        onChange={(chosen) => {
          setFilters({ by: chosen });
        }}
      />
      <Answered of={found}>
        {(summary) => (
          <>
            {!summary.complete && <p class="quiet">{words.partial(summary.counted)}</p>}
            <Table
              label={words.groups}
              rows={summary.groups}
              keyOf={(group) => group.value ?? ""}
              columns={[
                {
                  name: words.by[by],
                  kind: "text",
                  cell: (group) => <Foreign text={group.label} />,
                },
                { name: words.different, kind: "number", cell: (group) => group.count },
                { name: words.stricter, kind: "number", cell: (group) => group.stricter },
                { name: words.milder, kind: "number", cell: (group) => group.milder },
                { name: words.example, cell: (group) => <Open decision_id={group.example} /> },
              ]}
            />
          </>
        )}
      </Answered>
    </>
  );
}

/** Shows a difference side by side; its id is in the address. */
export function Open({ decision_id }: { decision_id: string }) {
  return (
    <button
      type="button"
      onClick={() => {
        setFilters({ open: decision_id });
      }}
    >
      {words.sideBySide} <span class="hidden">{decision_id}</span>
    </button>
  );
}
