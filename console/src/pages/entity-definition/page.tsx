/** One entity definition: the parts of its key, and the events it applies to. */

import type { Schemas } from "../../api/client";
import { objectCalls } from "../../api/objects";
import { ExpressionField } from "../../expression/field";
import { CommonFields } from "../../definitions/common";
import { Defined, type Resource } from "../../definitions/defined";
import { hasRole, useTenant } from "../../frame/session";
import { ChoiceField, NumberField } from "../../parts/form";
import { text } from "../../text/en";
import { KeyDoctor } from "./health";

const words = text.entityDefinition;
type Definition = Schemas["EntityDefinition"];
type Members = Pick<
  Definition,
  | "name"
  | "description"
  | "labels"
  | "enabled"
  | "priority"
  | "key_fields"
  | "match_expression"
  | "on_missing_key"
>;
const MISSING = [
  ["skip", words.missing.skip],
  ["blank", words.missing.blank],
] as const;

const DEFINITION: Resource<Definition, Members> = {
  folder: "entity-definitions",
  title: words.create,
  idOf: (definition) => definition.entity_definition_id,
  membersOf: (definition) => ({
    name: definition.name,
    description: definition.description,
    labels: definition.labels,
    enabled: definition.enabled,
    priority: definition.priority,
    key_fields: definition.key_fields,
    match_expression: definition.match_expression,
    on_missing_key: definition.on_missing_key,
  }),
  empty: () => ({
    name: "",
    description: "",
    labels: {},
    enabled: true,
    priority: 100,
    key_fields: ["derived.client_network"],
    match_expression: null,
    on_missing_key: "skip",
  }),
  ...objectCalls(
    "/api/v1/tenants/{tenant_id}/entity-definitions",
    "/api/v1/tenants/{tenant_id}/entity-definitions/{entity_definition_id}",
  ),
};

export default function EntityDefinitionPage() {
  const { role } = useTenant();
  return (
    <Defined
      resource={DEFINITION}
      below={({ entity_definition_id }) =>
        hasRole(role, "Analyst") && <KeyDoctor entity_definition_id={entity_definition_id} />
      }
    >
      {({ value, change }, isReadOnly) => (
        <>
          <CommonFields value={value} change={change} />
          <KeyFields
            value={value.key_fields}
            isReadOnly={isReadOnly}
            onChange={(key_fields) => {
              change({ key_fields });
            }}
          />
          <div class="row">
            <ChoiceField
              label={words.onMissing}
              value={value.on_missing_key}
              options={MISSING}
              onChange={(on_missing_key) => {
                change({ on_missing_key });
              }}
            />
            <NumberField
              label={text.policies.columns.order}
              value={value.priority}
              onChange={(priority) => {
                change({ priority });
              }}
            />
          </div>
          <ExpressionField
            label={words.match}
            purpose="match"
            matches
            value={value.match_expression ?? ""}
            isReadOnly={isReadOnly}
            onChange={(expression) => {
              change({ match_expression: expression || null });
            }}
          />
        </>
      )}
    </Defined>
  );
}

function KeyFields(props: {
  value: readonly string[];
  isReadOnly: boolean;
  onChange: (value: string[]) => void;
}) {
  const { value, onChange } = props;
  return (
    <fieldset class="card">
      <legend>{words.key}</legend>
      {value.map((part, number) => (
        <div class="part" key={number}>
          <ExpressionField
            label={words.part(number + 1)}
            purpose="key-field"
            value={part}
            isReadOnly={props.isReadOnly}
            onChange={(changed) => {
              onChange(value.map((each, at) => (at === number ? changed : each)));
            }}
          />
          {value.length > 1 && (
            <button
              type="button"
              onClick={() => {
                onChange(value.filter((_, at) => at !== number));
              }}
            >
              {words.removePart} {number + 1}
            </button>
          )}
        </div>
      ))}
      <button
        type="button"
        onClick={() => {
          onChange([...value, ""]);
        }}
      >
        {words.addPart}
      </button>
    </fieldset>
  );
}
