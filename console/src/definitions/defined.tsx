/** Page of one definition: read it, change it in a form, delete it. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { useLocation, useRoute } from "preact-iso";
import type { ComponentChildren } from "preact";
import { queries, type Schemas } from "../api/client";
import type { IfMatch } from "../api/objects";
import { Answered } from "../parts/answer";
import { Confirm } from "../parts/confirm";
import { marked } from "../parts/foreign";

import { ProblemPanel } from "../parts/problem";
import { Warnings } from "../parts/warnings";
import { text } from "../text/en";
import { useDraft, type Draft } from "./draft";
import { DraftForm } from "./draft-form";
import { filters } from "../frame/place";
import { useRefusal } from "../frame/role";
import { useTenant } from "../frame/session";

const words = text.editing;

interface Common {
  revision: number;
  name: string;
  warnings?: readonly Schemas["DefinitionWarning"][];
}

export interface Resource<O extends Common, M extends object> {
  /** Its folder in addresses: an action is at `/console/SLUG/actions/ID`. */
  folder: string;
  /** The title of the form for a new one. */
  title: string;
  idOf: (object: O) => string;
  /** The members that the form changes. */
  membersOf: (object: O) => M;
  /** The members of a new one; the address may give some. */
  empty: (given: URLSearchParams) => M;
  read: (tenant_id: string, id: string) => Promise<O>;
  create: (tenant_id: string, members: M) => Promise<O>;
  change: (tenant_id: string, id: string, members: M, headers: IfMatch) => Promise<O>;
  remove: (tenant_id: string, id: string) => Promise<unknown>;
}

interface Parts<O extends Common, M extends object> {
  resource: Resource<O, M>;
  /** Content above the form of an existing object. */
  above?: (object: O) => ComponentChildren;
  /** Content below it. */
  below?: (object: O) => ComponentChildren;
  children: (draft: Draft<O, M>, isReadOnly: boolean, object: O | null) => ComponentChildren;
}

export function Defined<O extends Common, M extends object>(parts: Parts<O, M>) {
  const { folder, read } = parts.resource;
  const { tenant_id } = useTenant();
  const id = useRoute().params["id"] ?? "new";
  const found = useQuery({
    queryKey: [folder, tenant_id, id],
    queryFn: () => (id === "new" ? Promise.resolve(null) : read(tenant_id, id)),
  });
  return <Answered of={found}>{(object) => <Form key={id} {...parts} object={object} />}</Answered>;
}

function Form<O extends Common, M extends object>(props: Parts<O, M> & { object: O | null }) {
  const { resource, object } = props;
  const { folder, idOf, membersOf } = resource;
  const { tenant_id, slug } = useTenant();
  const { route } = useLocation();
  const refusal = useRefusal("Admin");
  const draft = useDraft<O, M>({
    object,
    draftOf: membersOf,
    empty: resource.empty(filters.value),
    read: (found) => resource.read(tenant_id, idOf(found)),
    write: (members, tag) => {
      if (!object) return resource.create(tenant_id, members);
      const headers = tag === null ? {} : { "if-match": tag };
      return resource.change(tenant_id, idOf(object), members, headers);
    },
    saved: async (saved) => {
      queries.setQueryData([folder, tenant_id, idOf(saved)], saved);
      await queries.invalidateQueries({ queryKey: [folder, tenant_id] });
      if (!object) route(`/console/${slug}/${folder}/${idOf(saved)}`);
    },
  });
  return (
    <>
      {object && props.above?.(object)}
      <DraftForm
        title={object ? marked(object.name) : resource.title}
        draft={draft}
        draftOf={membersOf}
        refusal={refusal}
      >
        {props.children(draft, refusal !== null, object)}
      </DraftForm>
      <Warnings of={draft.saved?.warnings ?? []} />
      {object && props.below?.(object)}
      {object && <Remove resource={resource} object={object} refusal={refusal} />}
    </>
  );
}

function Remove<O extends Common, M extends object>(props: {
  resource: Resource<O, M>;
  object: O;
  refusal: string | null;
}) {
  const { resource, object } = props;
  const { folder } = resource;
  const { tenant_id, slug } = useTenant();
  const { route } = useLocation();
  const remove = useMutation({
    mutationFn: () => resource.remove(tenant_id, resource.idOf(object)),
    onSuccess: async () => {
      route(`/console/${slug}/${folder}`, true);
      await queries.invalidateQueries({ queryKey: [folder, tenant_id] });
    },
  });
  return (
    <>
      {remove.error && <ProblemPanel error={remove.error} />}
      <Confirm
        label={words.remove}
        question={`${words.reallyRemove} ${marked(object.name)}?`}
        refusal={props.refusal}
        onConfirm={() => {
          remove.mutate();
        }}
      />
    </>
  );
}
