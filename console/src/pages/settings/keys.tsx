/** API keys of applications: create (shown once), rotate, revoke. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Confirm } from "../../parts/confirm";
import { Copy } from "../../parts/copy";
import { marked } from "../../parts/foreign";
import { CheckField } from "../../parts/form";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.settings;
const OVERLAP_SECONDS = 86_400;
const NEW_KEY = { name: "", source: "", limit: "", expires: "", canSync: false };
type Key = Schemas["ApiKey"];

export function Keys() {
  const { tenant_id } = useTenant();
  const [asked, setAsked] = useState(NEW_KEY);
  const change = (members: Partial<typeof NEW_KEY>) => {
    setAsked({ ...asked, ...members });
  };
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["keys", tenant_id] });
  const create = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/api-keys", {
          params: { path: { tenant_id } },
          body: {
            name: asked.name,
            can_sync: asked.canSync,
            ...(asked.source && { source_id: asked.source }),
            ...(asked.limit && { rate_limit_per_minute: Number(asked.limit) }),
            ...(asked.expires && { expires_at: new Date(asked.expires).toISOString() }),
          },
        }),
      ),
    onSuccess: () => {
      setAsked(NEW_KEY);
      return onSuccess();
    },
  });
  const rotate = useMutation({
    mutationFn: (key: Key) =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/api-keys/{api_key_id}/rotate", {
          params: { path: { tenant_id, api_key_id: key.api_key_id } },
          body: { overlap_seconds: OVERLAP_SECONDS },
        }),
      ),
    onSuccess,
  });
  const revoke = useMutation({
    mutationFn: (key: Key) =>
      api.DELETE("/api/v1/tenants/{tenant_id}/api-keys/{api_key_id}", {
        params: { path: { tenant_id, api_key_id: key.api_key_id } },
      }),
    onSuccess,
  });
  const made = rotate.data ?? create.data;
  return (
    <>
      {[create, rotate, revoke].map(
        ({ error }, number) => error && <ProblemPanel key={number} error={error} />,
      )}
      {made && (
        <p role="status">
          {words.once} <code>{made.key}</code> <Copy value={made.key} what={words.key} />
        </p>
      )}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          rotate.reset();
          create.mutate();
        }}
      >
        <label>
          {words.name}{" "}
          <input
            required
            value={asked.name}
            onInput={(event) => {
              change({ name: event.currentTarget.value });
            }}
          />
        </label>
        <label>
          {words.source}{" "}
          <input
            value={asked.source}
            placeholder={words.optional}
            onInput={(event) => {
              change({ source: event.currentTarget.value });
            }}
          />
        </label>
        <label>
          {words.limit}{" "}
          <input
            type="number"
            min={1}
            value={asked.limit}
            placeholder={words.standard}
            onInput={(event) => {
              change({ limit: event.currentTarget.value });
            }}
          />
        </label>
        <label>
          {words.expires}{" "}
          <input
            type="datetime-local"
            value={asked.expires}
            onInput={(event) => {
              change({ expires: event.currentTarget.value });
            }}
          />
        </label>
        <CheckField
          label={words.canSync}
          value={asked.canSync}
          onChange={(canSync) => {
            change({ canSync });
          }}
        />
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
        columns={[
          ...COLUMNS,
          {
            name: words.change,
            cell: (key) => <Changes key_={key} rotate={rotate.mutate} revoke={revoke.mutate} />,
          },
        ]}
        keyOf={(key) => key.api_key_id}
        empty={<p>{words.noKeys}</p>}
      />
    </>
  );
}

const COLUMNS: readonly Column<Key>[] = [
  { name: words.name, kind: "text", cell: (key) => marked(key.name) },
  { name: words.key, cell: (key) => <code>tg_{key.prefix}_…</code> },
  { name: words.source, cell: (key) => (key.source_id === null ? null : marked(key.source_id)) },
  { name: words.limit, kind: "number", cell: (key) => key.rate_limit_per_minute },
  { name: words.syncs, cell: (key) => (key.can_sync ? words.yes : words.no) },
  {
    name: words.expires,
    cell: (key) => (key.expires_at ? <Moment at={key.expires_at} /> : words.never),
  },
  {
    name: words.used,
    cell: (key) => (key.last_used_at ? <Moment at={key.last_used_at} /> : words.never),
  },
  {
    name: words.state,
    cell: (key) =>
      key.revoked_at ? (
        words.revoked
      ) : key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? (
        words.expired
      ) : key.previous_secret_expires_at ? (
        <>
          {words.overlap} <Moment at={key.previous_secret_expires_at} />
        </>
      ) : (
        words.valid
      ),
  },
];

function Changes(props: { key_: Key; rotate: (key: Key) => void; revoke: (key: Key) => void }) {
  const key = props.key_;
  if (key.revoked_at !== null) return null;
  return (
    <span class="row">
      <button
        type="button"
        onClick={() => {
          props.rotate(key);
        }}
      >
        {words.rotate} <span class="hidden">{marked(key.name)}</span>
      </button>
      <Confirm
        label={`${words.revoke} ${marked(key.name)}`}
        question={words.reallyRevoke}
        refusal={null}
        onConfirm={() => {
          props.revoke(key);
        }}
      />
    </span>
  );
}
