/** The figures that an operator looks at first, each next to the period before. */

import { useQuery } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { api, body, page } from "../../api/client";
import { bounds, boundsBefore, period } from "../../frame/place";
import { hasRole, useTenant } from "../../frame/session";
import { PERCENT } from "../../format/percent";
import { useTimeline } from "../../recorded/timeline";
import { text } from "../../text/en";
import { changeOf } from "./change";
import { useStatus } from "./status";

const words = text.overview;
const COUNT = new Intl.NumberFormat();
const RATE = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
/** The most active mitigations that are counted. */
const MOST = 500;

export function Tiles() {
  const { role, slug } = useTenant();
  const { seconds } = period.value;
  const now = sumOf(useTimeline({ by: "action" }).data);
  const before = sumOf(useTimeline({ by: "action" }, boundsBefore()).data);
  const isAnalyst = hasRole(role, "Analyst");
  const status = useStatus().data;
  const held = useHeld();
  const counted = (name: "total" | "challenge" | "block" | "errors", isBad: boolean) => (
    <Change now={now?.[name]} before={before?.[name]} isBad={isBad} />
  );
  return (
    <div class="tiles">
      <Tile name={words.rate} figure={now && `${RATE.format(now.total / seconds)}/s`}>
        {counted("total", false)}
      </Tile>
      <Tile name={words.blocked} figure={now && COUNT.format(now.block)}>
        {counted("block", true)}
      </Tile>
      <Tile name={words.challenged} figure={now && COUNT.format(now.challenge)}>
        {counted("challenge", true)}
      </Tile>
      <Solved />
      <Tile name={words.errors} figure={now && COUNT.format(now.errors)}>
        {counted("errors", true)}
      </Tile>
      {isAnalyst && (
        <Tile name={words.held} figure={held}>
          <a href={`/console/${slug}/active`}>{words.showHeld}</a>
        </Tile>
      )}
      {isAnalyst && (
        <Tile name={words.daemonsNow} figure={status && COUNT.format(status.daemons)}>
          {status && words.rateNow(RATE.format(status.decisions_a_second))}
        </Tile>
      )}
    </div>
  );
}

function Tile(props: {
  name: string;
  /** Undefined until it is known. */
  figure: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <dl class="card tile">
      <dt>{props.name}</dt>
      <dd class="figure">{props.figure ?? "…"}</dd>
      <dd>{props.children}</dd>
    </dl>
  );
}

function Change(props: { now: number | undefined; before: number | undefined; isBad: boolean }) {
  const { now, before, isBad } = props;
  if (now === undefined || before === undefined) return <>…</>;
  const tone = now === before || !isBad ? "" : now > before ? "worse" : "better";
  return (
    <>
      <span class={tone}>{changeOf(now, before)}</span> {words.than}
    </>
  );
}

type Sums = Record<"total" | "challenge" | "block" | "errors", number>;

function sumOf(steps: readonly Sums[] | undefined): Sums | undefined {
  return steps?.reduce(
    (sum, step) => ({
      total: sum.total + step.total,
      challenge: sum.challenge + step.challenge,
      block: sum.block + step.block,
      errors: sum.errors + step.errors,
    }),
    { total: 0, challenge: 0, block: 0, errors: 0 },
  );
}

/** The share of issued challenges that was solved. */
function Solved() {
  const now = useSolved(bounds());
  const before = useSolved(boundsBefore());
  const figure = now && (now.issued === 0 ? "–" : PERCENT.format(now.solved / now.issued));
  return (
    <Tile name={words.solved} figure={figure}>
      {now && before && words.solvedOf(now, before)}
    </Tile>
  );
}

function useSolved(query: { since: string; until?: string }) {
  const { tenant_id } = useTenant();
  const found = useQuery({
    queryKey: ["challenges", tenant_id, query],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/results/challenges", {
          params: { path: { tenant_id }, query },
        }),
      ),
  });
  return found.data?.providers.reduce(
    (sum, { issued, solved }) => ({ issued: sum.issued + issued, solved: sum.solved + solved }),
    { issued: 0, solved: 0 },
  );
}

/** The number of entities under an active mitigation now. */
function useHeld(): string | undefined {
  const { tenant_id, role } = useTenant();
  const found = useQuery({
    queryKey: ["active", tenant_id, "count"],
    enabled: hasRole(role, "Analyst"),
    queryFn: () =>
      page(
        api.GET("/api/v1/tenants/{tenant_id}/active-mitigations", {
          params: { path: { tenant_id }, query: { limit: MOST } },
        }),
      ),
  });
  if (!found.data) return undefined;
  const count = new Set(found.data.rows.map((each) => each.entity_id)).size;
  return found.data.next === null ? COUNT.format(count) : words.atLeast(COUNT.format(count));
}
