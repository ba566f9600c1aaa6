/** An edit conflict: the changes of both sides since their common base. */

import { text } from "../text/en";
import { differences } from "./difference";
import { marked } from "./foreign";
import { Table } from "./table";

const words = text.editing;

export function Stale<T>(props: {
  base: T;
  mine: T;
  theirs: T;
  takeTheirs: () => void;
  saveMine: () => void;
}) {
  const { base, mine, theirs } = props;
  const paths = new Set(
    [...differences(base, mine), ...differences(base, theirs)].map((each) => each.path),
  );
  const columns = [
    { name: "", cell: (path: string) => <code>{path}</code> },
    ...Object.entries({ base, mine, theirs }).map(([name, value]) => ({
      name,
      kind: "text" as const,
      cell: (path: string) => <span class="mono">{shown(at(value, path))}</span>,
    })),
  ];
  return (
    <div class="problem" role="alert">
      <p>{words.stale}</p>
      <Table label={words.stale} rows={[...paths]} columns={columns} keyOf={(path) => path} />
      <div class="row">
        <button type="button" onClick={props.takeTheirs}>
          {words.takeTheirs}
        </button>
        <button type="button" onClick={props.saveMine}>
          {words.saveMine}
        </button>
      </div>
    </div>
  );
}

function at(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (found, name) => (found as Record<string, unknown> | undefined)?.[name],
      value,
    );
}

function shown(value: unknown): string {
  if (value === undefined) return "";
  return marked(typeof value === "string" ? value : JSON.stringify(value));
}
