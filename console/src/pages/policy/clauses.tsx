/** The clauses of a policy, each with its conditions and its mitigation. */

import type { Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { useActions, useEntityDefinitions, useMitigations } from "../../definitions/objects";
import { marked } from "../../parts/foreign";
import { CheckField, ChoiceField, DurationField, NumberField, TextField } from "../../parts/form";
import { text } from "../../text/en";

const words = text.policy;
type Clause = Schemas["Clause"];
type Window = Schemas["Window"];

export function newClause(): Clause {
  return {
    name: null,
    expression: null,
    action_ids: [],
    entity_definition_id: null,
    mitigation_id: null,
    window: null,
    final: false,
  };
}

export function Clauses(props: {
  clauses: readonly Clause[];
  isReadOnly: boolean;
  onChange: (clauses: Clause[]) => void;
}) {
  const { clauses, isReadOnly, onChange } = props;
  return (
    <section aria-labelledby="clauses">
      <h2 id="clauses">{words.clauses}</h2>
      {clauses.map((clause, number) => (
        <ClauseFields
          key={number}
          number={number}
          clause={clause}
          isReadOnly={isReadOnly}
          onChange={(changed) => {
            onChange(clauses.map((each, at) => (at === number ? changed : each)));
          }}
          onRemove={() => {
            onChange(clauses.filter((_, at) => at !== number));
          }}
        />
      ))}
      <p>
        <button
          type="button"
          onClick={() => {
            onChange([...clauses, newClause()]);
          }}
        >
          {words.addClause}
        </button>
      </p>
    </section>
  );
}

function ClauseFields(props: {
  number: number;
  clause: Clause;
  isReadOnly: boolean;
  onChange: (clause: Clause) => void;
  onRemove: () => void;
}) {
  const { number, clause, isReadOnly } = props;
  const change = (changes: Partial<Clause>): void => {
    props.onChange({ ...clause, ...changes });
  };
  return (
    <fieldset class="card">
      <legend>{clause.name == null ? `${words.clause} ${number + 1}` : marked(clause.name)}</legend>
      <TextField
        label={text.editing.name}
        value={clause.name ?? ""}
        onChange={(name) => {
          change({ name: name || null });
        }}
      />
      <ExpressionField
        label={words.condition}
        purpose="condition"
        rows
        entity={clause.entity_definition_id != null}
        value={clause.expression ?? ""}
        isReadOnly={isReadOnly}
        onChange={(expression) => {
          change({ expression: expression || null });
        }}
      />
      <Requirements clause={clause} onChange={change} />
      <WindowFields clause={clause} onChange={change} />
      <CheckField
        label={words.final}
        value={clause.final ?? false}
        onChange={(final) => {
          change({ final });
        }}
      />
      <button type="button" onClick={props.onRemove}>
        {words.removeClause}
      </button>
    </fieldset>
  );
}

function Requirements(props: { clause: Clause; onChange: (changes: Partial<Clause>) => void }) {
  const { clause, onChange } = props;
  const actions = useActions().data ?? [];
  const entities = useEntityDefinitions().data ?? [];
  const mitigations = useMitigations().data ?? [];
  const wanted = clause.action_ids ?? [];
  const toggle = (id: string): void => {
    const without = wanted.filter((each) => each !== id);
    onChange({ action_ids: without.length === wanted.length ? [...wanted, id] : without });
  };
  return (
    <>
      <fieldset class="plain field">
        <legend>{words.actions}</legend>
        <div class="row">
          {actions.map((action) => (
            <CheckField
              key={action.action_id}
              label={marked(action.name)}
              value={wanted.includes(action.action_id)}
              onChange={() => {
                toggle(action.action_id);
              }}
            />
          ))}
        </div>
      </fieldset>
      <div class="row">
        <ChoiceField
          label={words.entity}
          value={clause.entity_definition_id ?? ""}
          options={[
            ["", words.noEntity],
            ...entities.map((each) => [each.entity_definition_id, marked(each.name)] as const),
          ]}
          onChange={(id) => {
            onChange({ entity_definition_id: id || null });
          }}
        />
        <ChoiceField
          label={words.mitigation}
          value={clause.mitigation_id ?? ""}
          options={[
            ["", words.monitors],
            ...mitigations.map(
              (each) => [each.mitigation_id, `${marked(each.name)} (${each.mode})`] as const,
            ),
          ]}
          onChange={(id) => {
            onChange({ mitigation_id: id || null });
          }}
        />
      </div>
    </>
  );
}

const NEW_WINDOW: Window = { duration_seconds: 60, threshold: 5, measure: "count", field: null };
const MEASURES = [
  ["count", words.count],
  ["distinct", words.distinct],
] as const;

function WindowFields(props: { clause: Clause; onChange: (changes: Partial<Clause>) => void }) {
  const { onChange } = props;
  const window = props.clause.window ?? null;
  const change = (changes: Partial<Window>): void => {
    onChange({ window: { ...(window ?? NEW_WINDOW), ...changes } });
  };
  return (
    <>
      <CheckField
        label={words.window}
        value={window !== null}
        onChange={(isWanted) => {
          onChange({ window: isWanted ? NEW_WINDOW : null });
        }}
      />
      {window && (
        <div class="row">
          <NumberField
            label={words.threshold}
            min={1}
            value={window.threshold}
            onChange={(threshold) => {
              change({ threshold });
            }}
          />
          <DurationField
            label={words.within}
            value={window.duration_seconds}
            onChange={(duration_seconds) => {
              change({ duration_seconds });
            }}
          />
          <ChoiceField
            label={words.measure}
            value={window.measure ?? "count"}
            options={MEASURES}
            onChange={(measure) => {
              change({ measure, field: measure === "count" ? null : (window.field ?? "") });
            }}
          />
          {window.measure === "distinct" && (
            <TextField
              label={words.field}
              isRequired
              value={window.field ?? ""}
              onChange={(field) => {
                change({ field });
              }}
            />
          )}
        </div>
      )}
    </>
  );
}
