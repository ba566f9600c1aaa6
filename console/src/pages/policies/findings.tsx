/** Warnings about likely mistakes in a policy. */

import { useQuery } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { hinted } from "../../parts/foreign";
import { text } from "../../text/en";

type Warning = Schemas["DefinitionWarning"];
const NOTHING: ReadonlyMap<string, readonly Warning[]> = new Map();

/** The warnings about each policy, by its id; empty until they are loaded. */
export function useFindings(): ReadonlyMap<string, readonly Warning[]> {
  const { tenant_id } = useTenant();
  const { data } = useQuery({
    // Under the key of the policies, so that changing policies reloads the warnings too.
    queryKey: ["policies", tenant_id, "findings"],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/definitions/findings", {
          params: { path: { tenant_id } },
        }),
      ),
  });
  return data ? new Map(data.map((each) => [each.id, each.warnings])) : NOTHING;
}

export function Findings({ of }: { of: readonly Warning[] }) {
  if (of.length === 0) return null;
  return (
    <details>
      <summary>{text.policies.findings(of.length)}</summary>
      <ul>
        {of.map((each) => (
          <li key={each.pointer + each.code}>
            <code>{each.pointer}</code> {hinted(each.detail, each.hint)} <code>{each.code}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
