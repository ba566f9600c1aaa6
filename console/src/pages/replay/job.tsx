/** One replay: its progress, its counts, and the decisions that differ. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { filters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Badge } from "../../parts/badge";
import { marked } from "../../parts/foreign";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery } from "../../parts/table";
import { text } from "../../text/en";
import { Groups, Open } from "./groups";
import { LeftOut } from "./left-out";
import { Matrix } from "./matrix";
import { SideBySide } from "./side-by-side";

const words = text.replay;
const LOOK_AGAIN_MS = 1_000;
type Job = Schemas["ReplayJob"];
type Outcome = Schemas["ReplayedDecision"];

export default function ReplayPage() {
  const { tenant_id } = useTenant();
  const replay_job_id = useRoute().params["id"] ?? "";
  const found = useQuery({
    queryKey: ["replay", tenant_id, replay_job_id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}", {
          params: { path: { tenant_id, replay_job_id } },
        }),
      ),
    refetchInterval: (query) => (isUnderWay(query.state.data) ? LOOK_AGAIN_MS : false),
  });
  return (
    <>
      <h1>{text.pages.replay}</h1>
      <Answered of={found}>
        {(job) => (
          <>
            <p role="status">
              {job.status}: {job.progress} / {job.total}{" "}
              <progress max={Math.max(1, job.total)} value={job.progress} />
            </p>
            {isUnderWay(job) && <Cancel job={job} />}
            {job.error !== null && <p class="problem">{marked(job.error)}</p>}
            {job.result && <Result job={job} result={job.result} />}
          </>
        )}
      </Answered>
    </>
  );
}

function Cancel({ job }: { job: Job }) {
  const { tenant_id } = useTenant();
  const { replay_job_id } = job;
  const cancel = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}/cancel", {
        params: { path: { tenant_id, replay_job_id } },
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["replay", tenant_id, replay_job_id] }),
  });
  return (
    <>
      {cancel.error && <ProblemPanel error={cancel.error} />}
      <button
        type="button"
        disabled={cancel.isPending}
        onClick={() => {
          cancel.mutate();
        }}
      >
        {words.cancel}
      </button>
    </>
  );
}

function isUnderWay(job: Job | undefined): boolean {
  return job?.status === "queued" || job?.status === "running";
}

function Result({ job, result }: { job: Job; result: Schemas["ReplayResult"] }) {
  const { tenant_id, slug } = useTenant();
  const { replay_job_id } = job;
  const opened = filters.value.get("open");
  return (
    <>
      <Matrix replay_job_id={replay_job_id} result={result} />
      <LeftOut result={result} />
      <h2>
        {words.differences}: {result.different}
      </h2>
      {opened !== null && <SideBySide replay_job_id={replay_job_id} decision_id={opened} />}
      {result.different > 0 && <Groups replay_job_id={replay_job_id} />}
      <Listing
        label={words.differences}
        queryKey={["replay-differences", tenant_id, replay_job_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}/differences", {
              params: { path: { tenant_id, replay_job_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={[
          {
            name: words.decision,
            cell: (row) => (
              <a href={`/console/${slug}/decisions/${row.decision_id}`}>
                <code>{row.decision_id}</code>
              </a>
            ),
          },
          { name: words.recorded, cell: (row) => <OutcomeShown outcome={row.recorded} /> },
          { name: words.replayed, cell: (row) => <OutcomeShown outcome={row.replayed} /> },
          { name: words.sideBySide, cell: (row) => <Open decision_id={row.decision_id} /> },
        ]}
        keyOf={(row) => row.decision_id}
        empty={<p>{words.none}</p>}
      />
    </>
  );
}

function OutcomeShown({ outcome }: { outcome: Outcome }) {
  return (
    <>
      <Badge answer={outcome.action} />{" "}
      {outcome.policy === null
        ? text.reasons[outcome.reason]
        : `${marked(outcome.policy)}, ${marked(outcome.clause ?? "")}`}
    </>
  );
}
