/** The form of a new alert, with a preview over the past week. */

import { useMutation } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, queries, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { ChoiceField, TextField } from "../../parts/form";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

const words = text.alerts;
const NEW = { name: "", threshold: "", timesUsual: "", overMinutes: "", to: "" };
type Metric = Schemas["AlertCreate"]["metric"];
type Kind = Schemas["Destination"]["kind"];
const METRICS = Object.entries(words.metrics) as [Metric, string][];
const KINDS = Object.entries(words.kinds) as [Kind, string][];

export function NewAlert() {
  const { tenant_id } = useTenant();
  const [asked, setAsked] = useState(NEW);
  const [metric, setMetric] = useState<Metric>("blocks");
  const [kind, setKind] = useState<Kind>("webhook");
  const condition = {
    metric,
    ...(asked.threshold && { threshold: Number(asked.threshold) }),
    ...(asked.timesUsual && { times_usual: Number(asked.timesUsual) }),
    ...(asked.overMinutes && { over_minutes: Number(asked.overMinutes) }),
  };
  const preview = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/alerts/preview", {
          params: { path: { tenant_id } },
          body: condition,
        }),
      ),
  });
  const create = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/alerts", {
          params: { path: { tenant_id } },
          body: {
            name: asked.name,
            ...condition,
            ...(asked.to && { destinations: [{ kind, to: asked.to.trim() }] }),
          },
        }),
      ),
    onSuccess: () => {
      setAsked(NEW);
      preview.reset();
      return queries.invalidateQueries({ queryKey: ["alerts", tenant_id] });
    },
  });
  const change = (members: Partial<typeof NEW>) => {
    setAsked({ ...asked, ...members });
  };
  const error = create.error ?? preview.error;
  return (
    <form
      class="card"
      aria-label={words.create}
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <div class="row">
        <TextField
          label={words.name}
          isRequired
          value={asked.name}
          onChange={(name) => {
            change({ name });
          }}
        />
        <ChoiceField label={words.metric} value={metric} options={METRICS} onChange={setMetric} />
        {(["threshold", "timesUsual", "overMinutes"] as const).map((member) => (
          <OptionalNumber
            key={member}
            label={words[member]}
            value={asked[member]}
            onChange={(value) => {
              change({ [member]: value });
            }}
          />
        ))}
        <ChoiceField label={words.kind} value={kind} options={KINDS} onChange={setKind} />
        <TextField
          label={words.to}
          value={asked.to}
          onChange={(to) => {
            change({ to });
          }}
        />
      </div>
      {error && <ProblemPanel error={error} />}
      <div class="row">
        <button disabled={create.isPending}>{words.save}</button>
        <button
          type="button"
          disabled={preview.isPending}
          onClick={() => {
            preview.mutate();
          }}
        >
          {words.preview}
        </button>
      </div>
      {preview.data && <Previewed found={preview.data} />}
    </form>
  );
}

function OptionalNumber(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <label class="field short">
      {props.label}
      <input
        type="number"
        min={0}
        step="any"
        value={props.value}
        placeholder={words.standard}
        onInput={(event) => {
          props.onChange(event.currentTarget.value);
        }}
      />
    </label>
  );
}

function Previewed({ found }: { found: Schemas["AlertPreviewed"] }) {
  if (!found.recorded) return <p role="status">{words.unrecorded}</p>;
  return (
    <div role="status">
      <p>{words.fired(found.total, new Date(found.since).toLocaleString())}</p>
      <ul>
        {found.firings.map((each) => (
          <li key={each.since}>
            <Moment at={each.since} /> {each.condition}
          </li>
        ))}
      </ul>
    </div>
  );
}
