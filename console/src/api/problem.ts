/** A problem that the service reported (RFC 9457), or the failure to reach it. */

import type { components } from "./schema";

export type ProblemDocument = components["schemas"]["ProblemDocument"];

export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    readonly status: number,
    readonly document: ProblemDocument | null,
  ) {
    super(document?.detail ?? document?.title ?? unexplained(status));
  }

  get code(): string {
    return this.document?.code ?? "unreachable";
  }

  get requestId(): string | null {
    return this.document?.request_id ?? null;
  }

  /** Whether the same call may succeed later without a change. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

function unexplained(status: number): string {
  return status === 0 ? "The service cannot be reached." : `The service answered ${status}.`;
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, null);
}
