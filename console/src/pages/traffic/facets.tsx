/** The most frequent values of some fields; clicking one narrows the expression. */

import type { Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Foreign, marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.traffic;
const SHOWN = 8;
type Facet = Schemas["Facet"];
export type FacetValue = Schemas["FacetValue"];

export function Facets(props: {
  facets: readonly Facet[];
  onChoose: (facet: Facet, value: FacetValue) => void;
}) {
  return (
    <div class="cards">
      {props.facets.map((facet, number) => (
        <section class="card" aria-labelledby={`facet-${number}`} key={facet.expression}>
          <h2 id={`facet-${number}`} class="mono">
            {marked(facet.expression)}
          </h2>
          <p class="quiet">{words.distinct(facet.distinct)}</p>
          <Values facet={facet} onChoose={props.onChoose} />
          <Addresses facet={facet} />
        </section>
      ))}
    </div>
  );
}

function Values(props: { facet: Facet; onChoose: (facet: Facet, value: FacetValue) => void }) {
  const { facet } = props;
  const most = Math.max(1, ...facet.values.map((each) => each.count));
  return (
    <ul class="facet">
      {facet.values.slice(0, SHOWN).map((value) => (
        <li key={String(value.value)}>
          <button
            type="button"
            disabled={value.literal === null}
            title={value.literal === null ? words.redacted : words.narrow}
            onClick={() => {
              props.onChoose(facet, value);
            }}
          >
            <Foreign text={String(value.value) || words.blank} />
          </button>
          <span>{value.count}</span>
          <meter min={0} max={most} value={value.count} aria-hidden="true" />
        </li>
      ))}
    </ul>
  );
}

/** A link that puts the shown addresses into a new list. */
function Addresses({ facet }: { facet: Facet }) {
  const { slug } = useTenant();
  if (facet.expression !== "request.client_ip" || facet.values.length === 0) return null;
  const entries = facet.values.map((each) => String(each.value)).join("\n");
  return (
    <a class="button" href={`/console/${slug}/lists/new#${new URLSearchParams({ entries })}`}>
      {words.addToList}
    </a>
  );
}
