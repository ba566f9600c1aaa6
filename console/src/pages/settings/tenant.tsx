/** The settings of the tenant. */

import { useQuery } from "@tanstack/preact-query";
import { api, body, queries, type Schemas } from "../../api/client";
import { useDraft } from "../../definitions/draft";
import { DraftForm } from "../../definitions/draft-form";
import { useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { AreaField, CheckField, ChoiceField, NumberField, TextField } from "../../parts/form";
import { text } from "../../text/en";

const words = text.tenant;
type Tenant = Schemas["Tenant"];
/** Answers have every setting. */
type Settings = Required<Schemas["TenantSettings"]>;
type Members = Settings & { name: string };

const NUMBERS = [
  ["retention_days", 1, 3_650],
  ["proof_ttl_seconds", 60, 2_592_000],
  ["challenge_wait_seconds", 0, 300],
  ["max_keys", 1, 100_000_000],
] as const;
const LISTS = ["redact", "trusted_proxies", "return_url_origins"] as const;
const FAIL_MODES = (["last-known", "open", "closed"] as const).map(
  (mode) => [mode, words.failModes[mode]] as const,
);
const ANSWERS = (["allow", "challenge", "block"] as const).map(
  (answer) => [answer, text.actions[answer]] as const,
);

export function TenantSettings() {
  const { tenant_id } = useTenant();
  const found = useQuery({ queryKey: ["tenant", tenant_id], queryFn: () => read(tenant_id) });
  return <Answered of={found}>{(tenant) => <Form tenant={tenant} />}</Answered>;
}

function read(tenant_id: string): Promise<Tenant> {
  return body(api.GET("/api/v1/tenants/{tenant_id}", { params: { path: { tenant_id } } }));
}

const membersOf = ({ name, settings }: Tenant): Members => ({ name, ...(settings as Settings) });

function Form({ tenant }: { tenant: Tenant }) {
  const { tenant_id } = tenant;
  const refusal = useRefusal("Owner");
  const draft = useDraft<Tenant, Members>({
    object: tenant,
    draftOf: membersOf,
    empty: membersOf(tenant),
    read: () => read(tenant_id),
    write: ({ name, ...settings }, tag) =>
      body(
        api.PATCH("/api/v1/tenants/{tenant_id}", {
          params: { path: { tenant_id } },
          headers: tag === null ? {} : { "if-match": tag },
          body: { name, settings },
        }),
      ),
    saved: (saved) => void queries.setQueryData(["tenant", tenant_id], saved),
  });
  const { value, change } = draft;
  return (
    <DraftForm title={null} draft={draft} draftOf={membersOf} refusal={refusal}>
      <TextField
        label={text.editing.name}
        isRequired
        value={value.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      {NUMBERS.map(([member, min, max]) => (
        <NumberField
          key={member}
          label={words[member]}
          min={min}
          max={max}
          value={value[member]}
          onChange={(number) => {
            change({ [member]: number });
          }}
        />
      ))}
      <ChoiceField
        label={words.fail_mode}
        value={value.fail_mode}
        options={FAIL_MODES}
        onChange={(fail_mode) => {
          change({ fail_mode });
        }}
      />
      <ChoiceField
        label={words.on_budget_exceeded}
        value={value.on_budget_exceeded}
        options={ANSWERS}
        onChange={(on_budget_exceeded) => {
          change({ on_budget_exceeded });
        }}
      />
      <CheckField
        label={words.keep_only_read}
        value={value.keep_only_read}
        onChange={(keep_only_read) => {
          change({ keep_only_read });
        }}
      />
      {LISTS.map((member) => (
        <AreaField
          key={member}
          label={words[member]}
          value={value[member].join("\n")}
          onChange={(typed) => {
            change({ [member]: typed.split("\n") });
          }}
        />
      ))}
    </DraftForm>
  );
}
