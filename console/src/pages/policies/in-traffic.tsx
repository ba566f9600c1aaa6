/** Findings about all definitions, by recorded traffic; looked for on request, as it takes a while. */

import { useMutation } from "@tanstack/preact-query";
import { api, body, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { bounds } from "../../frame/place";
import { marked } from "../../parts/foreign";
import { ProblemPanel } from "../../parts/problem";
import { Warnings } from "../../parts/warnings";
import { text } from "../../text/en";
import { Findings } from "./findings";

const words = text.lint;
type Found = Schemas["LintFound"];

export function InTraffic() {
  const { tenant_id } = useTenant();
  const lint = useMutation({
    mutationFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/lint", {
          params: { path: { tenant_id }, query: bounds() },
        }),
      ),
  });
  return (
    <section class="card" aria-labelledby="lint">
      <h2 id="lint">{words.title}</h2>
      <p class="quiet">{words.about}</p>
      {lint.error && <ProblemPanel error={lint.error} />}
      <RoleButton
        needs="Analyst"
        isBusy={lint.isPending}
        onClick={() => {
          lint.mutate();
        }}
      >
        {words.start}
      </RoleButton>
      {lint.data && <Shown found={lint.data} />}
    </section>
  );
}

function Shown({ found }: { found: Found }) {
  return (
    <>
      <p role="status">{words.of(found.looked_at, found.complete)}</p>
      <Warnings of={found.general} />
      {found.definitions.length === 0 && <p>{words.none}</p>}
      <ul>
        {found.definitions.map((each) => (
          <li key={each.id}>
            {words.kinds[each.kind]} {marked(each.name)}
            <Findings of={each.warnings} />
          </li>
        ))}
      </ul>
    </>
  );
}
