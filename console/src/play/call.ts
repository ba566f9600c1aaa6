/** The calls of the page, with the token of the printed address. */

import type { Schemas } from "../api/client";
import { text } from "../text/play";
import type { Texts } from "./link";

const NAME = "tidegate.play.token";

export interface Finding {
  message: string;
  severity: "error" | "warning";
  hint: string | null;
  line: number | null;
  column: number | null;
  offset: number | null;
}
export interface DecidedEvent {
  error?: string;
  time?: string;
  method?: string;
  path?: string;
  client_ip?: string;
  action?: "allow" | "challenge" | "block";
  reason?: string;
  policy?: string | null;
  clause?: string | null;
}
export interface CountedWindow {
  policy: string;
  clause: string;
  threshold: number;
  duration_seconds: number;
  points: readonly { time: string; value: number }[];
}
export interface Evaluation {
  findings: readonly Finding[];
  events: readonly DecidedEvent[];
  trace: Schemas["DecisionExplanation"]["trace"] | null;
  windows: readonly CountedWindow[];
  chosen?: number;
}

/** Keeps the token for this tab and for links that are opened later. */
export function keepToken(token: string): void {
  localStorage.setItem(NAME, token);
}

export async function starting(): Promise<Texts> {
  return (await called("/start", {})) as Texts;
}

export async function evaluated(
  texts: Texts,
  chosen: number | null,
  signal: AbortSignal,
): Promise<Evaluation> {
  const body = JSON.stringify({ ...texts, chosen });
  return (await called("/evaluate", { method: "POST", body, signal })) as Evaluation;
}

async function called(path: string, init: RequestInit): Promise<unknown> {
  const token = localStorage.getItem(NAME);
  if (token === null) throw new Error(text.noToken);
  const headers = { authorization: `Bearer ${token}` };
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new Error(text.unreachable);
  }
  const found = (await answer.json()) as unknown;
  if (answer.ok) return found;
  throw new Error((found as { detail: string }).detail);
}
