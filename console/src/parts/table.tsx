/** A table, and a paged list of rows. */

import { useInfiniteQuery } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import type { Page } from "../api/client";
import { text } from "../text/en";
import { Loading } from "./loading";
import { ProblemPanel } from "./problem";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** The form of the cell: numbers to the right, long texts wrapped, a text in one line that is cut,
   * an address that isn't wrapped. */
  kind?: "number" | "text" | "line" | "address";
}

export function Table<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  /** Whether a row has a line below it. */
  isDivided?: (row: T) => boolean;
}) {
  const { label, rows, columns, keyOf } = props;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={column.kind} key={column.name}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={props.isDivided?.(row) ? "divided" : ""}>
              {columns.map((column) => (
                <td class={column.kind} key={column.name}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list from the service, page by page, as a table. */
export function Listing<T>(props: {
  label: string;
  queryKey: readonly unknown[];
  /** Loads the page at a cursor; the first page's cursor is "". */
  ask: (cursor: string) => Promise<Page<T>>;
  /** The columns; some are computed from all loaded rows. */
  columns: readonly Column<T>[] | ((rows: readonly T[]) => readonly Column<T>[]);
  keyOf: (row: T) => string;
  /** Shown instead of an empty table. */
  empty: ComponentChildren;
}) {
  const found = useInfiniteQuery({
    queryKey: props.queryKey,
    initialPageParam: "",
    queryFn: ({ pageParam }) => props.ask(pageParam),
    getNextPageParam: (last) => last.next,
  });
  const rows = found.data?.pages.flatMap((each) => each.rows) ?? [];
  const columns = typeof props.columns === "function" ? props.columns(rows) : props.columns;
  return (
    <>
      {found.error && <ProblemPanel error={found.error} retry={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data && rows.length === 0 && props.empty}
      {rows.length > 0 && <Table {...props} columns={columns} rows={rows} />}
      {found.hasNextPage && (
        <button
          type="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {text.frame.more}
        </button>
      )}
    </>
  );
}

/** The query for the page at a cursor. */
export function pageQuery(cursor: string, limit = 50): { limit: number; cursor?: string } {
  return { limit, ...(cursor && { cursor }) };
}
