/**
 * Asks Tidegate about a request, and carries out the decision.
 *
 * The conventions are those of every integration: docs/integrations.md. Nothing but `fetch`,
 * `Headers`, `Response`, `URL`, `crypto` and `AbortSignal` is used, which workers and Node all have.
 */

import { blockPage } from "./block-page.js";

const PARAMETER = "service_challenge_proof";
const COOKIE = "service_challenge";

/** A value that a cookie can carry (RFC 6265, 4.1.1); with its attributes under 4,096 bytes. */
const PROOF = /^[!#-+\--:<-\[\]-~]{1,3800}$/;
const ADDRESS = /^(https?):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/;
const HOST =
  /^(?:(?!.*\.\.)[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/;
const TARGET = /^https?:\/\/(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?#][!-[\]-~]*)?$/;
const PROTOCOL = /^HTTP\/[0-9](?:\.[0-9])?$/i;
const KEY = /^[!-~]{1,512}$/;
const HEADER_NAME = /^[A-Za-z0-9][!#$%&'*+.^_`|~0-9A-Za-z-]{0,63}$/;
const HEADER_VALUE = /^(?:[!-~](?:[ -~]{0,4094}[!-~])?)?$/;

/** Headers that belong to one connection (RFC 9110, 7.6.1), or frame the answer, or are secrets. */
const NEVER_ANSWERED = new Set([
  "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
  "te", "trailer", "trailers", "transfer-encoding", "upgrade", "host", "content-length",
  "content-encoding", "authorization", "cookie", "set-cookie", "x-service-api-key",
]);
const MAX_HEADERS = 20;
const MAX_BODY_BYTES = 64 * 1024;
const PRIVATE = [["cache-control", "no-store"], ["referrer-policy", "no-referrer"]];

const CODES = {
  "bad-request": [400, "Bad Request", "The request has no usable address."],
  "challenge-required": [403, "Forbidden", "A challenge has to be passed first, at `redirect_url`."],
  "invalid-proof": [403, "Forbidden", "The proof of a challenge is not valid. Ask again without it."],
  "request-refused": [
    403, "Forbidden", "The request cannot be read, so nothing could be decided on it.",
  ],
  "no-decision": [502, "Bad Gateway", "It could not be decided whether the request may pass."],
};

class NoDecision extends Error {}
/** Tidegate is there and refuses the key: no outage, so nothing passes until somebody mends it. */
class RefusedKey extends NoDecision {}
class RefusedRequest extends Error {}

/** Gives the answer to a visitor, or null when the request is to be handed on. */
export async function protect(request, options) {
  const visit = readVisit(request, options);
  if (visit === null) return problem(null, "bad-request");
  if (visit.proofs.length > 0 && visit.proof === null) return problem(visit, "invalid-proof");
  let decision;
  try {
    decision = await decide(visit, options);
    return carryOut(visit, decision);
  } catch (error) {
    if (error instanceof RefusedRequest) return problem(visit, "request-refused");
    options.onFailure?.(error);
    if (!options.failOpen || error instanceof RefusedKey) return problem(visit, "no-decision");
    // Nobody has looked at a proof. As a cookie it is looked at when there are decisions again.
    return visit.proof === null ? null : cleanAddress(visit);
  }
}

/**
 * Reports the site's answer to a request that passed, when it is a refusal: as a second event of the
 * request, with `fields.status`. Never throws, and answers when the report has left.
 */
export async function report(request, status, options) {
  if (!(options.outcomes ?? isRefusal)(status)) return;
  const visit = readVisit(request, options);
  if (visit === null) return;
  const { return_url: _, ...event } = eventOf(visit, options);
  event.fields = { status: String(status) };
  try {
    const response = await call("/api/v1/beacon/event", event, options);
    if (!response.ok) throw new Error(`Tidegate answered ${response.status} to a report`);
  } catch (error) {
    options.onFailure?.(error);
  }
}

function isRefusal(status) {
  return status >= 400;
}

function readVisit(request, options) {
  const parts = ADDRESS.exec(visible(request.url));
  if (parts === null || !HOST.test(parts[2]) || !URL.canParse(`http://${parts[2]}`)) return null;
  const [, , , path, query = ""] = parts;
  const [, scheme, host] = ADDRESS.exec(options.origin ?? request.url);
  const pairs = query.split("&").map((pair) => [readPair(pair), pair]);
  const proofs = pairs.filter(([[name]]) => name === PARAMETER).map(([[, value]]) => value);
  const clean = pairs.filter(([[name]]) => name !== PARAMETER).map(([, pair]) => pair).join("&");
  return {
    method: request.method.toUpperCase(),
    scheme,
    host,
    path: path || "/",
    query: clean,
    headers: request.headers,
    parameters: pairs.filter(([, pair]) => pair !== "").map(([pair]) => pair),
    proofs,
    proof: proofs.length === 1 && PROOF.test(proofs[0]) ? proofs[0] : null,
    url: `${scheme}://${host}${path || "/"}${clean === "" ? "" : `?${clean}`}`,
    clientAddress: options.clientAddress(request) ?? "",
    protocol: readProtocol(options.protocol?.(request) ?? ""),
  };
}

/** An address where anything but visible ASCII is percent-encoded, and the rest as it was written. */
function visible(text) {
  return text.replace(/[^!-~]+/gu, (run) => encodeURIComponent(run.toWellFormed()));
}

/** The protocol as docs/fields.md names it; empty where the text has another form. */
function readProtocol(text) {
  return PROTOCOL.test(text) ? text.toUpperCase().replace(/^(HTTP\/[23])\.0$/, "$1") : "";
}

function readPair(pair) {
  const at = pair.indexOf("=");
  return at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
}

function decode(text) {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    // A name must not hide behind a broken value: what can be decoded is.
    return spaced.replace(/(?:%[0-7][0-9A-Fa-f])+/g, decodeURIComponent);
  }
}

/** The event in the shape of docs/fields.md. */
function eventOf(visit, options) {
  const headers = Object.create(null);
  for (const [name, value] of visit.headers) {
    if (name !== "cookie" && name !== "x-service-api-key") headers[name] = value;
  }
  const cookies = grouped(readCookies(visit.headers.get("cookie") ?? ""));
  // A proof in the query is asked about alone, so that the cookie cannot stand in for a bad one.
  if (visit.proofs.length > 0) delete cookies[COOKIE];
  return {
    idempotency_key: crypto.randomUUID(),
    ...(options.source === undefined ? {} : { source: options.source }),
    return_url: visit.url,
    request: {
      method: visit.method,
      ...(visit.protocol === "" ? {} : { protocol: visit.protocol }),
      scheme: visit.scheme,
      host: visit.host,
      path: visit.path,
      query: visit.query,
      client_ip: visit.clientAddress,
      headers,
      query_params: grouped(visit.parameters),
      cookies,
    },
  };
}

function readCookies(text) {
  return text
    .split(";")
    .filter((pair) => pair.includes("="))
    .map((pair) => [pair.slice(0, pair.indexOf("=")).trim(), pair.slice(pair.indexOf("=") + 1).trim()])
    .filter(([name]) => name !== "");
}

function grouped(pairs) {
  const found = Object.create(null);
  for (const [name, value] of pairs) {
    found[name] = name in found ? [found[name], value].flat() : value;
  }
  return found;
}

function call(path, event, options) {
  const ask = options.fetch ?? fetch;
  return ask(`${options.url.replace(/\/+$/, "")}${path}`, {
    method: "POST",
    redirect: "manual",
    signal: AbortSignal.timeout(options.timeoutMilliseconds ?? 2000),
    headers: { "content-type": "application/json", "x-service-api-key": options.apiKey },
    body: JSON.stringify(event),
  });
}

async function decide(visit, options) {
  if (!KEY.test(options.apiKey)) throw new RefusedKey("`apiKey` is not 1 to 512 visible characters");
  const response = await call("/api/v1/runtime/mitigation", eventOf(visit, options), options);
  const text = await response.text();
  if ([400, 413, 422].includes(response.status)) throw new RefusedRequest();
  if ([401, 403].includes(response.status)) {
    throw new RefusedKey(`Tidegate refuses the key with ${response.status}`);
  }
  if (!response.ok) throw new NoDecision(`Tidegate answered ${response.status}`);
  return JSON.parse(text);
}

function carryOut(visit, decision) {
  const action = decision?.action;
  if (!["allow", "challenge", "block"].includes(action?.type)) {
    throw new NoDecision("the decision has no action");
  }
  if (visit.proof !== null) {
    const isValid = action.type === "allow" && decision.reason === "challenge-proof";
    return isValid ? cleanAddress(visit) : problem(visit, "invalid-proof");
  }
  if (action.type === "allow") return null;
  return action.type === "block"
    ? blocked(visit, action.block ?? {}, decision.decision_id)
    : challenge(visit, action);
}

function challenge(visit, action) {
  const target = action.challenge?.redirect_url;
  if (typeof target !== "string" || target.length > 2048 || !TARGET.test(target)) {
    throw new NoDecision("the challenge leads nowhere");
  }
  if (!isNavigation(visit)) return problem(visit, "challenge-required", { redirect_url: target });
  return new Response(null, { status: 302, headers: [["location", target], ...PRIVATE] });
}

function cleanAddress(visit) {
  const cookie = `${COOKIE}=${visit.proof}; Path=/; Secure; HttpOnly; SameSite=Lax`;
  const headers = [["location", visit.url], ["set-cookie", cookie], ...PRIVATE];
  return new Response(null, { status: 307, headers });
}

/**
 * A part that cannot be sent is left out: the visitor stays blocked. A block without a body and
 * without a content type is a page where somebody waits for one.
 */
function blocked(visit, block, reference) {
  const status = block.status_code ?? 403;
  const body = block.body ?? "";
  const given = block.headers ?? {};
  const isWhole = isObject(block) && isObject(given) && typeof body === "string";
  if (!isWhole || !Number.isInteger(status) || status < 400 || status > 599) {
    throw new NoDecision("the block has another shape");
  }
  const headers = new Headers({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  const kept = Object.entries(given).filter(([name, value]) => canAnswer(name, value));
  const isTyped = kept.some(([name]) => name.toLowerCase() === "content-type");
  let content = body;
  if (body === "" && !isTyped && isNavigation(visit)) {
    const [usual, page] = blockPage(visit.headers.get("accept-language") ?? "", reference);
    for (const [name, value] of Object.entries(usual)) headers.set(name, value);
    content = page;
  }
  for (const [name, value] of kept.slice(0, MAX_HEADERS)) headers.set(name, value);
  const bytes = new TextEncoder().encode(content);
  const isSent = bytes.length <= MAX_BODY_BYTES && visit.method !== "HEAD";
  return new Response(isSent ? bytes : null, { status, headers });
}

function isObject(value) {
  return typeof value === "object" && !Array.isArray(value);
}

function canAnswer(name, value) {
  if (!HEADER_NAME.test(name) || NEVER_ANSWERED.has(name.toLowerCase())) return false;
  return typeof value === "string" && HEADER_VALUE.test(value);
}

/** A sentence for a person, a problem document (RFC 9457) for a program. */
function problem(visit, code, members = {}) {
  const [status, title, detail] = CODES[code];
  const isPage = visit !== null && isNavigation(visit);
  const body = isPage ? `${detail}\n` : JSON.stringify({ title, status, detail, code, ...members });
  const headers = [
    ["content-type", isPage ? "text/plain; charset=utf-8" : "application/problem+json"],
    ["x-content-type-options", "nosniff"],
    ...PRIVATE,
  ];
  return new Response(visit?.method === "HEAD" ? null : body, { status, headers });
}

/** Whether somebody looks at a page that is to come, by what the browser says of the request. */
function isNavigation(visit) {
  // Of a page that is fetched ahead a browser throws a refusal away, and asks again when it is wanted.
  const purposes = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
  if (purposes.some((name) => /^pre(?:fetch|render|view)/i.test(visit.headers.get(name) ?? ""))) {
    return false;
  }
  const mode = visit.headers.get("sec-fetch-mode");
  if (mode) return mode === "navigate";
  const accept = (visit.headers.get("accept") ?? "").toLowerCase();
  return ["GET", "HEAD"].includes(visit.method) && accept.includes("text/html");
}
