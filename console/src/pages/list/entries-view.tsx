/** The entries of a list: search them, or paste new ones. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, queries, type Schemas } from "../../api/client";
import { RoleButton } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Copy } from "../../parts/copy";
import { Foreign, marked } from "../../parts/foreign";
import { AreaField, TextField } from "../../parts/form";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";
import { changeTo, entriesOf, readerOf, type EntriesChange } from "./entries";

const words = text.list;
const SHOWN = 200;
type Named = Schemas["NamedList"];

export function Entries({ list }: { list: Named }) {
  const [sought, setSought] = useState("");
  const found = list.entries.filter((each) => each.includes(sought));
  return (
    <section class="card" aria-labelledby="entries">
      <h2 id="entries">
        {words.entries}: {list.entry_count}
      </h2>
      <p>
        {words.read} <Foreign text={readerOf(list)} />{" "}
        <Copy value={readerOf(list)} what={words.read} />
      </p>
      <div class="cards">
        <div>
          <TextField label={words.search} value={sought} onChange={setSought} />
          <p role="status" class="quiet">
            {words.found(found.length)}
          </p>
          <pre tabIndex={0} aria-label={words.entries}>
            {marked(found.slice(0, SHOWN).join("\n")) || words.none}
          </pre>
          {found.length > SHOWN && <p class="quiet">{words.onlyFirst(SHOWN)}</p>}
        </div>
        <Paste key={list.revision} list={list} />
      </div>
    </section>
  );
}

function Paste({ list }: { list: Named }) {
  const { tenant_id } = useTenant();
  const { list_id } = list;
  const [pasted, setPasted] = useState("");
  const [isWhole, setIsWhole] = useState(false);
  const entries = entriesOf(pasted);
  const all = changeTo(list.entries, entries);
  const change = isWhole ? all : { add: all.add, remove: [] };
  const isSame = change.add.length + change.remove.length === 0;
  const save = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/tenants/{tenant_id}/lists/{list_id}/entries", {
        params: { path: { tenant_id, list_id } },
        headers: { "if-match": `"${list.revision}"` },
        body: change,
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["lists", tenant_id] }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      {save.error && <ProblemPanel error={save.error} />}
      <AreaField label={words.paste} rows={8} value={pasted} onChange={setPasted} />
      <label class="row check">
        <input
          type="checkbox"
          checked={isWhole}
          onChange={(event) => {
            setIsWhole(event.currentTarget.checked);
          }}
        />
        {words.whole}
      </label>
      <ChangeShown change={change} />
      <RoleButton type="submit" needs="Admin" isBusy={isSame || save.isPending}>
        {words.save}
      </RoleButton>
    </form>
  );
}

function ChangeShown({ change }: { change: EntriesChange }) {
  const shown = (entries: readonly string[]): string => entries.slice(0, SHOWN).join("\n");
  return (
    <>
      <p role="status">{words.change(change.add.length, change.remove.length)}</p>
      {change.add.length > 0 && (
        <pre>
          <ins>{marked(shown(change.add))}</ins>
        </pre>
      )}
      {change.remove.length > 0 && (
        <pre>
          <del>{marked(shown(change.remove))}</del>
        </pre>
      )}
    </>
  );
}
