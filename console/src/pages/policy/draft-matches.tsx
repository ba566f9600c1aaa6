/** The effect of a policy draft on recent traffic, while it is edited. */

import { useQueries } from "@tanstack/preact-query";
import type { Schemas } from "../../api/client";
import { checkQuery, type Question } from "../../expression/check";
import { useSettled } from "../../parts/settled";
import { Matches } from "../../expression/match";
import { hasRole, useTenant } from "../../frame/session";
import { text } from "../../text/en";

const words = text.traffic;
type Clause = Schemas["Clause"];
type Draft = Pick<Schemas["Policy"], "name" | "expression" | "clauses">;

export function DraftMatches({ draft }: { draft: Draft }) {
  const { tenant_id, role } = useTenant();
  const settled = useSettled(draft);
  // The fields send the same queries, and share the answers.
  const isGood = useQueries({
    queries: questionsOf(settled).map((question) => checkQuery(tenant_id, question)),
    combine: (reports) => reports.every((each) => each.data?.ok === true),
  });
  if (!hasRole(role, "Analyst")) return null;
  const { name, expression, clauses } = settled;
  const isWhole = clauses.length > 0 && clauses.every(isNumbered);
  return (
    <aside class="card" aria-labelledby="recent">
      <h2 id="recent">{words.recent}</h2>
      {isGood && isWhole ? (
        <Matches asked={{ policy: { name: name || words.recent, expression, clauses } }} />
      ) : (
        <p class="quiet">{words.mend}</p>
      )}
    </aside>
  );
}

function questionsOf({ expression, clauses }: Draft): Question[] {
  const asked: Question[] = clauses.flatMap((clause) => [
    {
      expression: clause.expression ?? "",
      purpose: "condition" as const,
      entity: clause.entity_definition_id != null,
    },
    { expression: clause.window?.field ?? "", purpose: "window-field" as const },
  ]);
  asked.push({ expression: expression ?? "", purpose: "scope" });
  return asked.filter((each) => each.expression.trim() !== "");
}

/** An empty number field has no number. */
function isNumbered({ window }: Clause): boolean {
  return window == null || (window.threshold >= 1 && window.duration_seconds >= 1);
}
