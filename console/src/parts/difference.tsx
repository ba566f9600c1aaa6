/** The changes to an object, member by member. */

import { text } from "../text/en";
import { marked } from "./foreign";
import { tokensThatDiffer } from "./tokens";

export interface Changed {
  path: string;
  before: unknown;
  after: unknown;
}

/** The members where two JSON values differ, by path. Lists are compared as a whole. */
export function differences(before: unknown, after: unknown, path = ""): Changed[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) =>
      differences(before[name], after[name], path ? `${path}.${name}` : name),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function Difference({ before, after }: { before: unknown; after: unknown }) {
  const changed = differences(before ?? undefined, after ?? undefined);
  if (changed.length === 0) return null;
  return (
    <details>
      <summary>{changed.map((each) => each.path || text.audit.whole).join(", ")}</summary>
      <dl class="pairs">
        {changed.map((each) => (
          <>
            <dt>{each.path}</dt>
            <dd>
              <Values before={each.before} after={each.after} />
            </dd>
          </>
        ))}
      </dl>
    </details>
  );
}

/** The difference of two texts; for other values, both. */
function Values({ before, after }: { before: unknown; after: unknown }) {
  if (typeof before === "string" && typeof after === "string") {
    return (
      <span class="mono">
        {tokensThatDiffer(before, after).map(({ kind, text }) =>
          kind === "removed" ? (
            <del>{marked(text)}</del>
          ) : kind === "added" ? (
            <ins>{marked(text)}</ins>
          ) : (
            marked(text)
          ),
        )}
      </span>
    );
  }
  return (
    <>
      {before !== undefined && <del class="mono">{shown(before)}</del>}{" "}
      {after !== undefined && <ins class="mono">{shown(after)}</ins>}
    </>
  );
}

function shown(value: unknown): string {
  return marked(typeof value === "string" ? value : JSON.stringify(value));
}
