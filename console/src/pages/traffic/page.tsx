/** Traffic: what is it, and what would catch it? */

import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, type Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { Begin } from "../../recorded/begin";
import { bounds, filters, setFilters } from "../../frame/place";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { text } from "../../text/en";
import { Facets, type FacetValue } from "./facets";
import { Matched } from "./matched";

const words = text.traffic;
const NEWEST = 10_000;
const SAMPLES = 20;
/** Events of a search that stopped too early to be conclusive. */
const FEW = 1_000;
const MOST_LOOKS = 3;
const LOOK_AGAIN_MS = 500;
const FIELDS = [
  "request.path",
  "request.method",
  "request.client_ip",
  'request.headers["user-agent"]',
  "request.host",
  "derived.ip_subnet",
  "derived.country",
  "derived.ua_family",
] as const;
/** Holds for every event. */
const ALL = "true";

/** The expression in the address and its result, in one call: an operator can run one search at a
 * time. */
function useMatch() {
  const { tenant_id } = useTenant();
  const asked = {
    expression: filters.value.get("expression") ?? ALL,
    ...bounds(),
    newest: NEWEST,
    samples: SAMPLES,
    by: [...FIELDS],
  };
  return useQuery<Schemas["TrafficFound"]>({
    queryKey: ["match", tenant_id, asked],
    // If the service first had to read the definitions, little of its second is left for events.
    refetchInterval: ({ state }) =>
      state.data?.complete === false &&
      state.data.looked_at < FEW &&
      state.dataUpdateCount < MOST_LOOKS
        ? LOOK_AGAIN_MS
        : false,
    // A new key drops the answer to an earlier query and cancels its call.
    queryFn: ({ signal }) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/traffic/match", {
          params: { path: { tenant_id } },
          body: asked,
          signal,
        }),
      ),
  });
}

export default function TrafficPage() {
  const found = useMatch();
  const shown = filters.value.get("expression") ?? "";
  const narrow = (facet: Schemas["Facet"], { literal }: FacetValue): void => {
    const test = `${facet.expression} == ${literal ?? ""}`;
    setFilters({ expression: shown ? `(${shown}) && ${test}` : test });
  };
  return (
    <>
      <h1>{text.pages.traffic}</h1>
      <Bar key={shown} shown={shown} />
      <Answered of={found}>
        {(match) =>
          match.looked_at === 0 ? (
            <div class="card empty">
              <p>{text.decisions.empty}</p>
              <Begin />
            </div>
          ) : (
            <>
              <p role="status">
                {words.summary(match.matched, match.looked_at)}
                {!match.complete && ` ${words.partial}`}
                {match.errors.length > 0 &&
                  ` ${words.errors} ${match.errors.map((each) => `${each.code}: ${each.count}`).join(", ")}.`}
              </p>
              <Facets facets={match.by} onChoose={narrow} />
              <Matched match={match} />
            </>
          )
        }
      </Answered>
    </>
  );
}

/** The expression bar, with links to create objects from the expression. */
function Bar({ shown }: { shown: string }) {
  const { slug } = useTenant();
  const [typed, setTyped] = useState(shown);
  const made = new URLSearchParams({ expression: typed }).toString();
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        setFilters({ expression: typed });
      }}
    >
      <ExpressionField
        label={words.expression}
        purpose="condition"
        value={typed}
        onChange={setTyped}
      />
      <div class="row">
        <button class="primary">{words.look}</button>
        <button
          type="button"
          onClick={() => {
            setTyped("");
            setFilters({ expression: "" });
          }}
        >
          {words.all}
        </button>
        <a class="button" href={`/console/${slug}/actions/new#${made}`}>
          {words.makeAction}
        </a>
        <a class="button" href={`/console/${slug}/policies/new#${made}`}>
          {words.makePolicy}
        </a>
      </div>
    </form>
  );
}
