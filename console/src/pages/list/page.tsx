/** One list: search its entries, paste new ones, and see the difference before saving. */

import type { Schemas } from "../../api/client";
import { objectCalls } from "../../api/objects";
import { CommonFields } from "../../definitions/common";
import { Defined, type Resource } from "../../definitions/defined";
import { AreaField, ChoiceField } from "../../parts/form";
import { text } from "../../text/en";
import { entriesOf } from "./entries";
import { Entries } from "./entries-view";
import { Refresh } from "./refresh";

const words = text.list;
type Named = Schemas["NamedList"];
interface Members {
  name: string;
  description: string;
  labels: Named["labels"];
  kind: Named["kind"];
  /** Pasted entries; only for a new list. */
  pasted: string;
}
const KINDS = [
  ["ip", words.kinds.ip],
  ["string", words.kinds.string],
] as const;

const CALLS = objectCalls(
  "/api/v1/tenants/{tenant_id}/lists",
  "/api/v1/tenants/{tenant_id}/lists/{list_id}",
);
const LIST: Resource<Named, Members> = {
  folder: "lists",
  title: words.create,
  idOf: (list) => list.list_id,
  membersOf: ({ name, description, labels, kind }) => ({
    name,
    description,
    labels,
    kind,
    pasted: "",
  }),
  empty: (given) => ({
    name: "",
    description: "",
    labels: {},
    kind: "ip",
    pasted: given.get("entries") ?? "",
  }),
  ...CALLS,
  create: (tenant_id, { pasted, ...members }) =>
    CALLS.create(tenant_id, { ...members, entries: entriesOf(pasted) }),
  change: (tenant_id, list_id, { name, description, labels, kind }, headers) =>
    CALLS.change(tenant_id, list_id, { name, description, labels, kind }, headers),
};

export default function ListPage() {
  return (
    <Defined
      resource={LIST}
      below={(list) => (
        <>
          {list.source && <Refresh list_id={list.list_id} source={list.source} />}
          <Entries list={list} />
        </>
      )}
    >
      {({ value, change }, _isReadOnly, list) => (
        <>
          <CommonFields value={value} change={change} />
          <ChoiceField
            label={words.kind}
            value={value.kind}
            options={KINDS}
            onChange={(kind) => {
              change({ kind });
            }}
          />
          {list === null && (
            <AreaField
              label={words.paste}
              rows={8}
              value={value.pasted}
              onChange={(pasted) => {
                change({ pasted });
              }}
            />
          )}
        </>
      )}
    </Defined>
  );
}
