/** Calls for kinds of objects with the same routes: list all, read or write one by its id. */

import { api, body, page, type Page } from "./client";
import type { paths } from "./schema";

type Method = "get" | "post" | "patch" | "delete";
/** The paths that support a method. */
type With<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Sent<P extends keyof paths, M extends Method> = paths[P][M] extends {
  requestBody: { content: { "application/json": infer T } };
}
  ? T
  : never;
type Got<P extends keyof paths> = paths[P]["get"] extends {
  responses: { 200: { content: { "application/json": infer T } } };
}
  ? T
  : never;

export type IfMatch = Record<"if-match", string> | Record<string, never>;
interface Init {
  params: { path: Record<string, string>; query?: Record<string, string | number> };
  headers?: IfMatch;
  body?: unknown;
}
type Call = (path: string, init: Init) => Promise<{ data?: unknown; response: Response }>;
/** The client for paths given as parameters; types are checked at the call site. */
const untyped = api as unknown as Record<"GET" | "POST" | "PATCH" | "DELETE", Call>;

/** Calls on single objects.
 *
 * @param all the path of the list, to create an object.
 * @param one the path of one object.
 */
export function objectCalls<All extends With<"post">, One extends With<"get" & "patch" & "delete">>(
  all: All,
  one: One,
) {
  const name = /\{([^{}]*)\}$/.exec(one)?.[1] ?? "";
  const at = (tenant_id: string, id: string) => ({ path: { tenant_id, [name]: id } });
  return {
    read: (tenant_id: string, id: string) =>
      body(untyped.GET(one, { params: at(tenant_id, id) })) as Promise<Got<One>>,
    create: (tenant_id: string, members: Sent<All, "post">) =>
      body(untyped.POST(all, { params: { path: { tenant_id } }, body: members })) as Promise<
        Got<One>
      >,
    change: (tenant_id: string, id: string, members: Sent<One, "patch">, headers: IfMatch) =>
      body(untyped.PATCH(one, { params: at(tenant_id, id), headers, body: members })) as Promise<
        Got<One>
      >,
    remove: (tenant_id: string, id: string) => untyped.DELETE(one, { params: at(tenant_id, id) }),
  };
}

const MOST = 500;

/** Every object of a kind, page by page.
 *
 * @param path the path of the list.
 */
export async function allObjects<P extends With<"get">>(
  path: P,
  tenant_id: string,
): Promise<Got<P>> {
  const found: unknown[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const query = { limit: MOST, ...(cursor && { cursor }) };
    const asked = untyped.GET(path, { params: { path: { tenant_id }, query } });
    const { rows, next }: Page<unknown> = await page(
      asked as Promise<{ data?: unknown[]; response: Response }>,
    );
    found.push(...rows);
    cursor = next;
  }
  return found as Got<P>;
}
