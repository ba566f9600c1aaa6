/** What is in force, and in which order? */

import { useQuery } from "@tanstack/preact-query";
import { api, page } from "../../api/client";
import { usePolicies } from "../../frame/names";
import { range, since } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { text } from "../../text/en";

const words = text.policies;

export default function PoliciesPage() {
  const policies = usePolicies();
  const results = useResults();
  return (
    <>
      <h1>{text.pages.policies}</h1>
      <Answered of={policies}>
        {(found) => {
          if (found.length === 0) return <p>{words.empty}</p>;
          const ordered = [...found].sort((a, b) => a.priority - b.priority);
          return (
            <div class="table-scroll" tabIndex={0} role="region" aria-label={text.pages.policies}>
              <table>
                <thead>
                  <tr>
                    {Object.values(words.columns).map((name) => (
                      <th scope="col">{name}</th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {ordered.map((policy) => {
                    const result = results.data?.get(policy.policy_id);
                    return (
                      <tr key={policy.policy_id}>
                        <td>{policy.priority}</td>
                        <td class="text">{marked(policy.name)}</td>
                        <td>{policy.enabled ? policy.status : words.disabled}</td>
                        <td>{result?.total ?? ""}</td>
                        <td>
                          {result?.last_match_at ? (
                            <Moment at={result.last_match_at} />
                          ) : (
                            words.never
                          )}
                        </td>
                        <td>{result?.errors ?? ""}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          );
        }}
      </Answered>
    </>
  );
}

function useResults() {
  const { tenant_id } = useTenant();
  const query = { since: since(range.value, Date.now()), limit: 500 };
  return useQuery({
    queryKey: ["results", tenant_id, query],
    queryFn: async () => {
      const { rows } = await page(
        api.GET("/api/v1/tenants/{tenant_id}/results/policies", {
          params: { path: { tenant_id }, query },
        }),
      );
      return new Map(rows.map((row) => [row.policy_id, row]));
    },
  });
}
