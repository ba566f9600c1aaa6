/** List of a tenant's definitions of one kind, with a link to create one. */

import type { ComponentChildren } from "preact";
import type { Page } from "../api/client";
import { marked } from "../parts/foreign";
import { Listing, type Column } from "../parts/table";
import { text } from "../text/en";
import { usePolicies } from "./objects";
import { useTenant } from "../frame/session";

export interface ShelfProps<T> {
  title: string;
  /** Its folder in addresses, as in `actions`. */
  folder: string;
  /** The text of the link to the form for a new one. */
  create: string;
  ask: (tenant_id: string, cursor: string) => Promise<Page<T>>;
  idOf: (row: T) => string;
  columns: readonly Column<T>[];
  empty: ComponentChildren;
}

export function Shelf<T extends { name: string }>(props: ShelfProps<T>) {
  const { folder, idOf } = props;
  const { tenant_id, slug } = useTenant();
  const base = `/console/${slug}/${folder}`;
  const name: Column<T> = {
    name: text.editing.name,
    kind: "text",
    cell: (row) => <a href={`${base}/${idOf(row)}`}>{marked(row.name)}</a>,
  };
  return (
    <>
      <div class="row spread">
        <h1>{props.title}</h1>
        <a class="button primary" href={`${base}/new`}>
          {props.create}
        </a>
      </div>
      <Listing
        label={props.title}
        queryKey={[folder, tenant_id, "pages"]}
        ask={(cursor) => props.ask(tenant_id, cursor)}
        columns={[name, ...props.columns]}
        keyOf={idOf}
        empty={
          <div class="card empty">
            <p>{props.empty}</p>
            <a class="button primary" href={`${base}/new`}>
              {props.create}
            </a>
          </div>
        }
      />
    </>
  );
}

/** The number of policies that refer to an object; empty until it is known. */
export function useUsage(): (id: string) => string {
  const policies = usePolicies().data;
  return (id) => {
    if (!policies) return "";
    const count = policies.filter((policy) =>
      policy.clauses.some(
        (clause) =>
          clause.action_ids?.includes(id) === true ||
          clause.entity_definition_id === id ||
          clause.mitigation_id === id,
      ),
    ).length;
    return text.usage(count);
  };
}

/** The column that shows whether an object is enabled. */
export function enabledColumn<T extends { enabled: boolean }>(): Column<T> {
  return {
    name: text.editing.enabled,
    cell: (row) => (row.enabled ? text.editing.yes : text.policies.disabled),
  };
}
