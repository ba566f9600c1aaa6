/** Search for everything: pages, policies, actions, a decision by its id, an address. */

import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { marked } from "../parts/foreign";
import { CheckField } from "../parts/form";
import { ROUTES } from "../routes";
import { text } from "../text/en";
import { hasSingleKeys, LETTERS, listenToKeys, overlay, pageName } from "./keys";
import {
  useActions,
  useEntityDefinitions,
  useLists,
  useMitigations,
  usePolicies,
} from "../definitions/objects";
import { useTenant } from "./session";

const words = text.palette;
const SHOWN = 12;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ADDRESS = /^[0-9a-f:.]{3,45}(\/\d+)?$/i;

interface Place {
  name: string;
  kind: string;
  /** Below the tenant, with its fragment. */
  path: string;
}

/** The palette and the list of keys, over the page; handles the keys. */
export function Overlays() {
  const { slug } = useTenant();
  const { route } = useLocation();
  useEffect(
    () =>
      listenToKeys((path) => {
        route(`/console/${slug}/${path}`);
      }),
    [slug, route],
  );
  if (overlay.value === "palette") return <Palette />;
  if (overlay.value === "keys") return <Keys />;
  return null;
}

function Over(props: { label: string; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={props.label} onClose={() => (overlay.value = null)}>
      {props.children}
    </dialog>
  );
}

function Palette() {
  const { slug } = useTenant();
  const { route } = useLocation();
  const [typed, setTyped] = useState("");
  const found = usePlaces(typed.trim()).slice(0, SHOWN);
  const go = (place: Place | undefined): void => {
    if (!place) return;
    overlay.value = null;
    route(`/console/${slug}/${place.path}`);
  };
  return (
    <Over label={text.frame.search}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go(found[0]);
        }}
      >
        <label class="field">
          {words.label}
          <input
            value={typed}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
            }}
          />
        </label>
        <p role="status" class="quiet">
          {found.length === 0 ? words.none : words.first}
        </p>
        <ul class="places">
          {found.map((place) => (
            <li key={place.path}>
              <button
                type="button"
                onClick={() => {
                  go(place);
                }}
              >
                {marked(place.name)} <span class="quiet">{place.kind}</span>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </Over>
  );
}

/** Every named object, with the page of its kind. */
function useNamed(): Place[] {
  const named = (kind: string, folder: string, all?: readonly { id: string; name: string }[]) =>
    all?.map(({ id, name }) => ({ name, kind, path: `${folder}/${id}` })) ?? [];
  const policies = usePolicies().data?.map((each) => ({ ...each, id: each.policy_id }));
  const actions = useActions().data?.map((each) => ({ ...each, id: each.action_id }));
  const mitigations = useMitigations().data?.map((each) => ({ ...each, id: each.mitigation_id }));
  const lists = useLists().data?.map((each) => ({ ...each, id: each.list_id }));
  const kinds = useEntityDefinitions().data?.map((each) => ({
    ...each,
    id: each.entity_definition_id,
  }));
  return [
    ...named(words.policy, "policies", policies),
    ...named(words.action, "actions", actions),
    ...named(words.mitigation, "mitigations", mitigations),
    ...named(words.list, "lists", lists),
    ...named(words.definition, "entity-definitions", kinds),
  ];
}

/** Search results for a text, the most likely first. */
function usePlaces(typed: string): Place[] {
  const named = useNamed();
  if (ID.test(typed)) {
    return [
      { name: typed, kind: words.decision, path: `decisions/${typed}` },
      { name: typed, kind: text.entity.title, path: `entities/${typed}` },
    ];
  }
  const pages = ROUTES.flatMap(({ nav, path }) =>
    nav === undefined ? [] : [{ name: text.pages[nav], kind: words.page, path }],
  );
  const sought = typed.toLowerCase();
  const found = [...pages, ...named].filter((each) => each.name.toLowerCase().includes(sought));
  const address = {
    name: typed,
    kind: words.decisions,
    path: `decisions#${of({ address: typed })}`,
  };
  const entity = { name: typed, kind: words.entity, path: `entities#${of({ key: typed })}` };
  if (ADDRESS.test(typed)) return [address, entity, ...found];
  return typed ? [...found, entity] : found;
}

function of(members: Record<string, string>): string {
  return new URLSearchParams(members).toString();
}

function Keys() {
  return (
    <Over label={words.keys}>
      <h2>{words.keys}</h2>
      <dl class="pairs">
        {Object.entries(words.named).map(([key, meaning]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
        {Object.entries(LETTERS).map(([letter, path]) => (
          <>
            <dt>
              <kbd>g {letter}</kbd>
            </dt>
            <dd>{pageName(path)}</dd>
          </>
        ))}
      </dl>
      <CheckField
        label={words.single}
        value={hasSingleKeys.value}
        onChange={(isWanted) => (hasSingleKeys.value = isWanted)}
      />
      <form method="dialog">
        <button>{words.close}</button>
      </form>
    </Over>
  );
}
