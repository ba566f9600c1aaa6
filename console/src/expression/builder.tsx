/** Edits an expression as rows: groups of field, comparison and value. */

import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { useTenant } from "../frame/session";
import { marked } from "../parts/foreign";
import { ChoiceField } from "../parts/form";
import { text } from "../text/en";
import { fields, language, type CatalogField } from "./known";
import { cel } from "./language";
import { added, divided, rejoined, removed, replaced } from "./row-edits";
import { ComparisonRow, NewRow, TextRow, type Known } from "./row";
import { rowsOf, type Group, type Item, type Joined, type Methods } from "./rows";

const words = text.rows;
const JOINED = [
  ["all", words.all],
  ["any", words.any],
] as const;
const NO_FIELDS: ReadonlyMap<string, CatalogField> = new Map();

export interface BuilderProps {
  label: string;
  value: string;
  isReadOnly?: boolean;
  onChange: (value: string) => void;
}

/** Properties that every group needs. */
interface Held extends Omit<BuilderProps, "label"> {
  known: Known;
}

export function ExpressionBuilder(props: BuilderProps) {
  const { tenant_id } = useTenant();
  const { value, isReadOnly = false, onChange } = props;
  const spoken = useQuery({
    queryKey: ["rows", tenant_id],
    staleTime: Infinity,
    queryFn: async () => methodsOf(await language(tenant_id)),
  });
  const seen = useQuery({
    queryKey: ["rows", tenant_id, "fields"],
    queryFn: () => fields(tenant_id),
  });
  if (spoken.data === undefined) return null;
  const known = { methods: spoken.data, fields: seen.data ?? NO_FIELDS };
  const group = rowsOf(cel.parser.parse(value), value, known.methods);
  const held = { value, isReadOnly, onChange, known };
  if (group === null && value.trim() !== "") {
    return <TextRow text={value} isReadOnly={isReadOnly} onChange={onChange} />;
  }
  return (
    <div class="rows" role="group" aria-label={props.label}>
      {group ? (
        <GroupRows group={group} {...held} />
      ) : (
        <Adding known={known} isReadOnly={isReadOnly} word={words.add} onAdd={onChange} />
      )}
    </div>
  );
}

/** String methods that take one value and return a bool. */
function methodsOf({ functions }: Awaited<ReturnType<typeof language>>): Methods {
  const found = functions.flatMap(({ name, overloads }) =>
    overloads
      .filter((each) => each.receiver === "string" && each.result === "bool")
      .filter((each) => each.parameters.length === 1)
      .map((each) => [name, each.parameters[0]?.startsWith("list(") === true] as const),
  );
  return new Map(found);
}

function GroupRows({ group, nested, ...held }: Held & { group: Group; nested?: boolean }) {
  const { value, isReadOnly = false, onChange, known } = held;
  const join = (joined: Joined): void => {
    onChange(rejoined(value, group, joined, nested === true));
  };
  return (
    <>
      {group.items.length > 1 && (
        <ChoiceField label={words.joined} value={group.joined} options={JOINED} onChange={join} />
      )}
      <ul class="tree">
        {group.items.map((item, number) => (
          <li key={number}>
            <Row group={group} item={item} nested={nested === true} {...held} />
          </li>
        ))}
      </ul>
      <Adding
        known={known}
        isReadOnly={isReadOnly}
        word={words.add}
        onAdd={(condition) => {
          onChange(added(value, group, condition));
        }}
      />
    </>
  );
}

function Row({
  group,
  item,
  nested,
  ...held
}: Held & { group: Group; item: Item; nested: boolean }) {
  const { value, isReadOnly = false, onChange, known } = held;
  const put = (by: string, isWeak: boolean): void => {
    onChange(replaced(value, group, item, by, isWeak));
  };
  if (item.kind === "group") {
    return (
      <fieldset class="card">
        <legend>{item.joined === "all" ? words.all : words.any}</legend>
        <GroupRows group={item} nested {...held} />
      </fieldset>
    );
  }
  return (
    <>
      {item.kind === "comparison" ? (
        <ComparisonRow compared={item} known={known} isReadOnly={isReadOnly} onChange={put} />
      ) : (
        <TextRow text={item.text} isReadOnly={isReadOnly} onChange={put} />
      )}
      <div class="row">
        <button
          type="button"
          disabled={isReadOnly}
          onClick={() => {
            onChange(removed(value, group, item));
          }}
        >
          {words.remove}
        </button>
        {!nested && (
          <Adding
            known={known}
            isReadOnly={isReadOnly}
            word={group.joined === "all" ? words.or : words.and}
            onAdd={(condition) => {
              onChange(divided(value, group, item, condition));
            }}
          />
        )}
      </div>
    </>
  );
}

/** A button that opens a row which isn't part of the expression yet. */
function Adding(props: {
  known: Known;
  isReadOnly: boolean;
  word: string;
  onAdd: (condition: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  if (!isOpen) {
    return (
      <button
        type="button"
        disabled={props.isReadOnly}
        onClick={() => {
          setOpen(true);
        }}
      >
        {marked(props.word)}
      </button>
    );
  }
  return (
    <NewRow
      known={props.known}
      onAdd={(condition) => {
        setOpen(false);
        props.onAdd(condition);
      }}
      onCancel={() => {
        setOpen(false);
      }}
    />
  );
}
