/** Decisions over time, as a plot by answer, or as a row for each policy, reason or API key. */

import { Begin } from "../../recorded/begin";
import { filters, setFilters } from "../../frame/place";
import { Answers } from "../../recorded/over-time";
import { useTimeline } from "../../recorded/timeline";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { ChoiceField } from "../../parts/form";
import { said } from "../../recorded/said";
import { text } from "../../text/en";
import { DEFINED, useChanges } from "./changes";
import { Series } from "./series";

const words = text.overview;
const BY = (["action", "policy", "reason", "api_key"] as const).map(
  (by) => [by, words.by[by]] as const,
);

export function Timeline() {
  const by = BY.map(([each]) => each).find((each) => each === filters.value.get("by")) ?? "action";
  const found = useTimeline({ by });
  const changes = useChanges().data?.rows.filter((each) => DEFINED.has(each.kind)) ?? [];
  const split = (
    <ChoiceField
      isInline
      label={words.splitBy}
      value={by}
      options={BY}
      onChange={(chosen) => {
        setFilters({ by: chosen });
      }}
    />
  );
  return (
    <Answered of={found} waiting={<div class="plot" />}>
      {(steps) =>
        by !== "action" ? (
          <>
            <div class="plot-head">
              <span class="push">{split}</span>
            </div>
            <Series steps={steps} by={by} />
          </>
        ) : (
          <>
            <Answers
              steps={steps}
              marks={changes.map((each) => ({
                at: Date.parse(each.at) / 1_000,
                label: marked(`${each.actor_name ?? each.actor} ${said(each)}`),
              }))}
            >
              {split}
            </Answers>
            {!steps.some((step) => step.total > 0) && (
              <div class="empty">
                <Begin />
              </div>
            )}
          </>
        )
      }
    </Answered>
  );
}
