/** The replays: what would change? */

import { useMutation } from "@tanstack/preact-query";
import { useLocation } from "preact-iso";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { usePolicies } from "../../definitions/objects";
import { bounds, filters, setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { marked } from "../../parts/foreign";
import { ChoiceField } from "../../parts/form";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.replay;
type Job = Schemas["ReplayJob"];

export default function ReplaysPage() {
  const { tenant_id, slug } = useTenant();
  const { route } = useLocation();
  const policy_id = filters.value.get("policy") ?? "";
  const policies = usePolicies().data ?? [];
  const start = useMutation({
    mutationFn: () => {
      // Include events that arrived since the page was opened.
      const asked = { until: new Date().toISOString(), ...bounds() };
      return body(
        api.POST("/api/v1/tenants/{tenant_id}/replay-jobs", {
          params: { path: { tenant_id } },
          body: { ...asked, ...(policy_id && { policy_id }) },
        }),
      );
    },
    onSuccess: async (job) => {
      await queries.invalidateQueries({ queryKey: ["replays", tenant_id] });
      route(`/console/${slug}/replay/${job.replay_job_id}`);
    },
  });
  const columns: readonly Column<Job>[] = [
    {
      name: words.created,
      cell: (job) => (
        <a href={`/console/${slug}/replay/${job.replay_job_id}`}>
          <Moment at={job.created_at} />
        </a>
      ),
    },
    { name: words.status, cell: (job) => job.status },
    { name: words.progress, kind: "number", cell: (job) => `${job.progress} / ${job.total}` },
    { name: words.different, kind: "number", cell: (job) => job.result?.different ?? "" },
  ];
  return (
    <>
      <h1>{text.pages.replay}</h1>
      {start.error && <ProblemPanel error={start.error} />}
      <div class="row end">
        <ChoiceField
          label={words.asIf}
          value={policy_id}
          options={[
            ["", words.asSaved],
            ...policies.map((each) => [each.policy_id, marked(each.name)] as const),
          ]}
          onChange={(policy) => {
            setFilters({ policy });
          }}
        />
        <button
          type="button"
          class="field"
          disabled={start.isPending}
          onClick={() => {
            start.mutate();
          }}
        >
          {words.start}
        </button>
      </div>
      <Listing
        label={text.pages.replay}
        queryKey={["replays", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/replay-jobs", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(job) => job.replay_job_id}
        empty={<p class="card empty">{words.empty}</p>}
      />
    </>
  );
}
