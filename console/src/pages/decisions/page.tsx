/** Who was stopped? */

import { useInfiniteQuery } from "@tanstack/preact-query";
import { api, page, type Schemas } from "../../api/client";
import { filters, range, setFilters, since } from "../../frame/place";
import { usePolicyNames } from "../../frame/names";
import { useTenant } from "../../frame/session";
import { Badge } from "../../parts/badge";
import { Foreign } from "../../parts/foreign";
import { Loading } from "../../parts/loading";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.decisions;
type Row = Schemas["DecisionSummary"];

export default function DecisionsPage() {
  const { tenant_id } = useTenant();
  const given = filters.value;
  const query = {
    since: since(range.value, Date.now()),
    limit: 50,
    ...optional("action", given.get("action") as Row["action"] | null),
    ...optional("reason", given.get("reason") as Row["reason"] | null),
    ...optional("path", given.get("path")),
    ...optional("policy_id", given.get("policy")),
    ...optional("entity_id", given.get("entity")),
  };
  const found = useInfiniteQuery({
    queryKey: ["decisions", tenant_id, query],
    initialPageParam: "",
    queryFn: ({ pageParam }) =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/decisions", {
          params: { path: { tenant_id }, query: { ...query, ...optional("cursor", pageParam) } },
        }),
      ),
    getNextPageParam: (last) => last.next,
  });
  const rows = found.data?.pages.flatMap((each) => each.rows) ?? [];
  return (
    <>
      <h1>{text.pages.decisions}</h1>
      <Filters />
      {found.error && <ProblemPanel error={found.error} retry={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data && rows.length === 0 && <Empty />}
      {rows.length > 0 && <Rows rows={rows} />}
      {found.hasNextPage && (
        <button
          type="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {text.frame.more}
        </button>
      )}
    </>
  );
}

function optional<N extends string, T>(name: N, value: T | null | ""): Partial<Record<N, T>> {
  return (value ? { [name]: value } : {}) as Partial<Record<N, T>>;
}

function Filters() {
  const given = filters.value;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <Choice name="action" label={words.filters.action} of={["allow", "challenge", "block"]} />
      <Choice name="reason" label={words.filters.reason} of={Object.keys(text.reasons)} />
      <label>
        {words.filters.path}{" "}
        <input
          value={given.get("path") ?? ""}
          onChange={(event) => {
            setFilters({ path: event.currentTarget.value });
          }}
        />
      </label>
    </form>
  );
}

function Choice(props: { name: string; label: string; of: readonly string[] }) {
  return (
    <label>
      {props.label}{" "}
      <select
        value={filters.value.get(props.name) ?? ""}
        onChange={(event) => {
          setFilters({ [props.name]: event.currentTarget.value });
        }}
      >
        <option value="">{words.filters.any}</option>
        {props.of.map((each) => (
          <option value={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

function Rows({ rows }: { rows: readonly Row[] }) {
  const { slug } = useTenant();
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={text.pages.decisions}>
      <table>
        <thead>
          <tr>
            {Object.values(words.columns).map((name) => (
              <th scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.decision_id}>
              <td>
                <a href={`/console/${slug}/decisions/${row.decision_id}`}>
                  <Moment at={row.received_at} />
                </a>
              </td>
              <td>
                <Badge answer={row.action} />
              </td>
              <td>{text.reasons[row.reason]}</td>
              <td>
                <PolicyName id={row.policy_id} />
              </td>
              <td class="text">
                <Foreign text={row.path ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PolicyName({ id }: { id: string | null }) {
  const names = usePolicyNames();
  return <>{id === null ? "" : (names.get(id) ?? id)}</>;
}

function Empty() {
  return (
    <div class="card">
      <p>{words.empty}</p>
      <p>{words.teach}</p>
      <pre>{`curl -s ${location.origin}/api/v1/runtime/mitigation \\
  -H 'x-service-api-key: …' -H 'content-type: application/json' \\
  -d '{"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.7"}}'`}</pre>
    </div>
  );
}
