/** Definitions and events in the fragment of an address, compressed. Servers never see them. */

import { text } from "../text/play";

/** Most characters of a fragment, and most bytes that it may unpack to. */
export const MAX_FRAGMENT = 64 * 1024;
export const MAX_UNPACKED = 2 * 1024 * 1024;
const FORM = "1";

export interface Texts {
  definitions: string;
  events: string;
}

/** The texts as a value of the fragment.
 *
 * @throws Error: they are too long for a link.
 */
export async function packed({ definitions, events }: Texts): Promise<string> {
  const stream = new Blob([JSON.stringify([definitions, events])])
    .stream()
    .pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const value = `${FORM}${base64(bytes)}`;
  if (value.length > MAX_FRAGMENT) throw new Error(text.linkTooLong);
  return value;
}

/** The texts in a value of the fragment.
 *
 * @throws Error: it is too long, or wasn't made by this page.
 */
export async function unpacked(value: string): Promise<Texts> {
  if (value.length > MAX_FRAGMENT) throw new Error(text.linkTooLong);
  if (!value.startsWith(FORM)) throw new Error(text.linkInvalid);
  let found: unknown;
  try {
    found = JSON.parse(await inflated(bytesOf(value.slice(FORM.length))));
  } catch (error) {
    throw error instanceof RangeError ? error : new Error(text.linkInvalid);
  }
  if (!Array.isArray(found) || found.length !== 2) throw new Error(text.linkInvalid);
  const [definitions, events] = found as unknown[];
  if (typeof definitions !== "string" || typeof events !== "string")
    throw new Error(text.linkInvalid);
  return { definitions, events };
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"))
    .getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_UNPACKED) {
      void reader.cancel();
      throw new RangeError(text.linkTooLong);
    }
    parts.push(value);
  }
  return new Blob(parts).text();
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytesOf(value: string): Uint8Array<ArrayBuffer> {
  const binary = atob(value.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (each) => each.charCodeAt(0));
}
