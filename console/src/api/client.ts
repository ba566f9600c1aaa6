/** Calls to the public API, typed by the OpenAPI document. Nothing else talks to the service. */

import { signal } from "@preact/signals";
import { QueryClient } from "@tanstack/preact-query";
import createClient, { type Middleware } from "openapi-fetch";
import { Problem, type ProblemDocument } from "./problem";
import type { components, paths } from "./schema";
import { forgetToken, token } from "./token";

export type Schemas = components["schemas"];

/** The time since which the service is unreachable or can't answer; null while it answers. */
export const lostSince = signal<number | null>(null);

/** Whether a change was saved while the previous definitions still apply. */
export const isPending = signal(false);

const UNAVAILABLE = 503;

const authorised: Middleware = {
  onRequest({ request }) {
    if (token.value) request.headers.set("authorization", `Bearer ${token.value}`);
    return request;
  },
  async onResponse({ request, response }) {
    if (response.status === UNAVAILABLE) lostSince.value ??= Date.now();
    else lostSince.value = null;
    if (response.ok) {
      if (request.method !== "GET")
        isPending.value = response.headers.get("definitions-active") === "false";
      return response;
    }
    const sent = request.headers.get("authorization");
    // A late 401 for an earlier token must not end the session of a newer one.
    if (response.status === 401 && sent === `Bearer ${token.value ?? ""}`) forgetToken();
    throw new Problem(response.status, await documentOf(response));
  },
  onError({ error }) {
    // A cancelled call says nothing about the service.
    if (error instanceof DOMException && error.name === "AbortError") return error;
    lostSince.value ??= Date.now();
    return new Problem(0, null);
  },
};

async function documentOf(response: Response): Promise<ProblemDocument | null> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("application/problem+json")) return null;
  try {
    return (await response.json()) as ProblemDocument;
  } catch {
    return null;
  }
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: "omit" });
api.use(authorised);

/** The body of a successful answer; every other answer was thrown as a `Problem`. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** One page of a list, and the cursor of the next. */
export interface Page<T> {
  rows: T[];
  next: string | null;
}

export async function page<T>(call: Promise<{ data?: T[]; response: Response }>): Promise<Page<T>> {
  const { data, response } = await call;
  return { rows: data ?? [], next: nextCursor(response.headers.get("link")) };
}

/** The cursor in a `Link` header with `rel="next"` (RFC 8288). */
export function nextCursor(link: string | null): string | null {
  const next = /<([^>]*)>\s*;[^,]*rel="?next"?/.exec(link ?? "")?.[1];
  if (next === undefined) return null;
  return new URL(next, "http://service").searchParams.get("cursor");
}

export const queries = new QueryClient({
  defaultOptions: {
    mutations: { networkMode: "always" },
    queries: {
      // Ignore the browser's view of the network: calls are made, and their failures are shown.
      networkMode: "always",
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof Problem && error.status === 0,
    },
  },
});
