/** The source of a published list: where it is, how its refreshes went, and one more now. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { api, body, queries, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign, marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Pairs } from "../../parts/pairs";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.listSource;
type Status = Schemas["ListRefreshStatus"];
type Source = Schemas["ListSource"];

export function Refresh({ list_id, source }: { list_id: string; source: Source }) {
  const { tenant_id } = useTenant();
  const key = ["list-refresh", tenant_id, list_id, source];
  const path = { params: { path: { tenant_id, list_id } } };
  const found = useQuery({
    queryKey: key,
    queryFn: () => body(api.GET("/api/v1/tenants/{tenant_id}/lists/{list_id}/refresh", path)),
  });
  const refresh = useMutation({
    mutationFn: () => body(api.POST("/api/v1/tenants/{tenant_id}/lists/{list_id}/refresh", path)),
    onSuccess: async (status) => {
      queries.setQueryData(key, status);
      await queries.invalidateQueries({ queryKey: ["lists", tenant_id] });
    },
  });
  return (
    <section class="card" aria-labelledby="source">
      <h2 id="source">{words.title}</h2>
      {refresh.error && <ProblemPanel error={refresh.error} />}
      <Answered of={found}>
        {(status) => (
          <>
            <Shown source={source} status={status} />
            <RoleButton
              needs="Admin"
              isBusy={!status.enabled || refresh.isPending}
              onClick={() => {
                refresh.mutate();
              }}
            >
              {words.now}
            </RoleButton>
            {!status.enabled && <p class="quiet">{words.off}</p>}
          </>
        )}
      </Answered>
    </section>
  );
}

function Shown({ source, status }: { source: Source; status: Status }) {
  const { refreshed_at, refused } = status;
  return (
    <Pairs
      of={[
        [words.url, <Foreign text={source.url} />],
        [words.format, [source.format, source.pointer].filter(Boolean).join(" ")],
        [words.every, words.seconds(source.refresh_seconds ?? 86_400)],
        [words.most, `${source.max_change_percent ?? 50} %`],
        [words.refreshed, refreshed_at ? <Moment at={refreshed_at} /> : words.never],
        [
          words.refused,
          refused ? (
            <>
              <Moment at={refused.at} /> {marked(refused.detail)} <code>{refused.code}</code>
            </>
          ) : (
            words.never
          ),
        ],
      ]}
    />
  );
}
