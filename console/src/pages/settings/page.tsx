/** Who may do what: API keys of applications, and people. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { hasRole, useTenant } from "../../frame/session";
import { Copy } from "../../parts/copy";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.settings;
type Key = Schemas["ApiKey"];
type Person = Schemas["Membership"];

export default function SettingsPage() {
  const { role } = useTenant();
  if (!hasRole(role, "Admin")) return <p>{words.needsAdmin}</p>;
  return (
    <>
      <h1>{text.pages.settings}</h1>
      <section class="card" aria-labelledby="keys">
        <h2 id="keys">{words.keys}</h2>
        <Keys />
      </section>
      <section class="card" aria-labelledby="people">
        <h2 id="people">{words.people}</h2>
        <People />
      </section>
    </>
  );
}

function Keys() {
  const { tenant_id } = useTenant();
  const [name, setName] = useState("");
  const refresh = () => queries.invalidateQueries({ queryKey: ["keys", tenant_id] });
  const create = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/api-keys", {
          params: { path: { tenant_id } },
          body: { name },
        }),
      ),
    onSuccess: refresh,
  });
  const revoke = useMutation({
    mutationFn: (key: Key) =>
      api.DELETE("/api/v1/tenants/{tenant_id}/api-keys/{api_key_id}", {
        params: { path: { tenant_id, api_key_id: key.api_key_id } },
      }),
    onSettled: refresh,
  });
  const columns: readonly Column<Key>[] = [
    { name: words.name, kind: "text", cell: (key) => marked(key.name) },
    { name: words.key, cell: (key) => <code>tg_{key.prefix}_…</code> },
    { name: words.limit, kind: "number", cell: (key) => key.rate_limit_per_minute },
    {
      name: words.used,
      cell: (key) => (key.last_used_at ? <Moment at={key.last_used_at} /> : words.never),
    },
    { name: words.state, cell: (key) => (key.revoked_at ? words.revoked : words.valid) },
    {
      name: words.revoke,
      cell: (key) => (
        <button
          type="button"
          disabled={key.revoked_at !== null}
          onClick={() => {
            revoke.mutate(key);
          }}
        >
          {words.revoke} <span class="hidden">{marked(key.name)}</span>
        </button>
      ),
    },
  ];
  return (
    <>
      {create.error && <ProblemPanel error={create.error} />}
      {revoke.error && <ProblemPanel error={revoke.error} />}
      {create.data && (
        <p role="status">
          {words.once} <code>{create.data.key}</code>{" "}
          <Copy value={create.data.key} what={words.key} />
        </p>
      )}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <label>
          {words.name}{" "}
          <input
            required
            value={name}
            onInput={(event) => {
              setName(event.currentTarget.value);
            }}
          />
        </label>
        <button disabled={create.isPending}>{words.create}</button>
      </form>
      <Listing
        label={words.keys}
        queryKey={["keys", tenant_id]}
        ask={(cursor) =>
          page(
            api.GET("/api/v1/tenants/{tenant_id}/api-keys", {
              params: { path: { tenant_id }, query: pageQuery(cursor) },
            }),
          )
        }
        columns={columns}
        keyOf={(key) => key.api_key_id}
        empty={<p>{words.noKeys}</p>}
      />
    </>
  );
}

const PERSON_COLUMNS: readonly Column<Person>[] = [
  { name: words.name, kind: "text", cell: (each) => marked(each.name ?? each.user_id) },
  { name: text.login.email, kind: "text", cell: (each) => marked(each.email ?? "") },
  { name: words.role, cell: (each) => each.role },
  { name: words.state, cell: (each) => (each.pending ? words.pending : words.valid) },
];

function People() {
  const { tenant_id } = useTenant();
  return (
    <Listing
      label={words.people}
      queryKey={["people", tenant_id]}
      ask={(cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/memberships", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      columns={PERSON_COLUMNS}
      keyOf={(each) => each.user_id}
      empty={<p>{words.noPeople}</p>}
    />
  );
}
