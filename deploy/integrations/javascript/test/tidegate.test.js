/** The answers of `protect`, which asks a stand-in for the service on a socket. */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { tidegate } from "../express.js";
import { protect, report } from "../tidegate.js";

const QUERY = "service_challenge_proof=abc.def-1";
const BROWSER = { accept: "text/html", "sec-fetch-mode": "navigate" };
let service, options, answer, asked;

before(async () => {
  service = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push({ headers: request.headers, event: JSON.parse(body) });
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise((ready) => service.listen(0, "127.0.0.1", ready));
});
after(() => service.close());
beforeEach(() => {
  asked = [];
  answer = { body: { action: { type: "allow" }, reason: "no-match" } };
  options = {
    url: `http://127.0.0.1:${service.address().port}/`,
    apiKey: "tg_key",
    clientAddress: () => "203.0.113.9",
  };
});

const visit = (path, headers = BROWSER, method = "GET") =>
  protect(new Request(`https://shop.example${path}`, { method, headers }), options);

test("an allowed request is handed on", async () => {
  assert.equal(await visit("/"), null);
});

test("the event is the request as it was asked", async () => {
  const cookie = "service_challenge=old; a=1; a=2; none";
  await visit("/a%20b?x=1&y=%2F&x=2&z", { cookie, "x-one": "1" }, "PUT");
  const [{ headers, event }] = asked;
  assert.equal(headers["x-service-api-key"], "tg_key");
  assert.equal(event.return_url, "https://shop.example/a%20b?x=1&y=%2F&x=2&z");
  assert.deepEqual(event.request, {
    method: "PUT",
    scheme: "https",
    host: "shop.example",
    path: "/a%20b",
    query: "x=1&y=%2F&x=2&z",
    client_ip: "203.0.113.9",
    headers: { "x-one": "1" },
    query_params: { x: ["1", "2"], y: "/", z: "" },
    cookies: { service_challenge: "old", a: ["1", "2"] },
  });
});

test("the origin may be set", async () => {
  options = { ...options, origin: "https://shop.test:8443" };
  await visit("/a");
  const { return_url, request } = asked[0].event;
  assert.deepEqual([return_url, request.host], ["https://shop.test:8443/a", "shop.test:8443"]);
});

test("a good proof becomes a cookie and a clean address", async () => {
  answer.body.reason = "challenge-proof";
  const reply = await visit(`/a?x=%2F&&${QUERY}&y`, { ...BROWSER, cookie: "service_challenge=old" });
  assert.equal(reply.status, 307);
  assert.equal(reply.headers.get("location"), "https://shop.example/a?x=%2F&&y");
  assert.equal(
    reply.headers.get("set-cookie"),
    "service_challenge=abc.def-1; Path=/; Secure; HttpOnly; SameSite=Lax",
  );
  assert.equal(reply.headers.get("referrer-policy"), "no-referrer");
  assert.deepEqual(asked[0].event.request.cookies, {});
});

test("a bad proof in the query is refused, whatever is decided", async () => {
  assert.equal((await visit(`/?${QUERY}`)).status, 403);
  answer.body.action = { type: "block", block: { status_code: 429 } };
  assert.equal((await visit(`/?${QUERY}`)).status, 403);
});

test("what cannot be a proof is asked about by nobody", async () => {
  for (const query of ["", "%0d%0aa", "a;b", "a".repeat(3801), `a&${QUERY}`, "%ff%0a"]) {
    assert.equal((await visit(`/?service%5Fchallenge_proof=${query}`)).status, 403);
  }
  assert.equal(asked.length, 0);
});

test("a browser is redirected to a challenge, a program gets a document", async () => {
  const target = "https://tidegate.example/api/v1/challenge/1";
  answer.body = { action: { type: "challenge", challenge: { redirect_url: target } } };
  const shown = await visit("/");
  assert.deepEqual([shown.status, shown.headers.get("location")], [302, target]);
  const read = await visit("/", { accept: "*/*" });
  assert.equal(read.status, 403);
  assert.equal(read.headers.get("content-type"), "application/problem+json");
  const { code, redirect_url } = await read.json();
  assert.deepEqual([code, redirect_url], ["challenge-required", target]);
});

test("a page that is fetched ahead is not sent to a challenge", async () => {
  answer.body.action = { type: "challenge", challenge: { redirect_url: "https://t.example/c" } };
  for (const header of [{ "sec-purpose": "prefetch;prerender" }, { "x-moz": "prefetch" }]) {
    assert.equal((await visit("/", { ...BROWSER, ...header })).status, 403);
  }
});

test("a failure is answered with 502, unless it was set that a visitor passes", async () => {
  answer = { status: 503, body: {} };
  assert.equal((await visit("/")).status, 502);
  const failures = [];
  options = { ...options, failOpen: true, onFailure: (error) => failures.push(error) };
  assert.equal(await visit("/"), null);
  assert.equal(failures.length, 1);
  const reply = await visit(`/a?${QUERY}`);
  assert.deepEqual([reply.status, reply.headers.get("location")], [307, "https://shop.example/a"]);
});

test("with a wrong or revoked key nothing passes, also where failures pass", async () => {
  const failures = [];
  options = { ...options, failOpen: true, onFailure: (error) => failures.push(error) };
  for (const status of [401, 403]) {
    answer = { status, body: {} };
    assert.equal((await visit("/")).status, 502);
    assert.equal((await visit(`/?${QUERY}`)).status, 502);
  }
  for (const apiKey of [undefined, "", "tg_…", "tg_key\n"]) {
    if (apiKey === undefined) answer = { status: 401, body: {} };
    options = { ...options, apiKey };
    assert.equal((await visit("/")).status, 502);
  }
  assert.equal(failures.length, 8);
});

test("a service that does not answer is a failure", async () => {
  options = { ...options, timeoutMilliseconds: 50, url: "http://127.0.0.1:1" };
  assert.equal((await visit("/")).status, 502);
});

test("a visitor cannot choose the failure", async () => {
  options = { ...options, failOpen: true };
  for (const status of [400, 413, 422]) {
    answer = { status, body: {} };
    assert.equal((await visit("/", { accept: "*/*" })).status, 403);
  }
});

test("a refusal of the site is reported as a second event, and nothing else is", async () => {
  const request = new Request("https://shop.example/login?a=1", { method: "POST" });
  await report(request, 200, options);
  assert.deepEqual(asked, []);
  await protect(request, options);
  await report(request, 401, options);
  const [first, second] = asked.map(({ event }) => event);
  assert.deepEqual(second.fields, { status: "401" });
  assert.deepEqual(second.request, first.request);
  assert.equal(second.return_url, undefined);
  assert.notEqual(second.idempotency_key, first.idempotency_key);
  const failures = [];
  options = { ...options, onFailure: (error) => failures.push(error), outcomes: () => true };
  answer = { status: 503, body: {} };
  await report(request, 200, options);
  assert.equal(failures.length, 1);
});

test("a head request gets no body", async () => {
  answer.body.action = { type: "block", block: { body: "no" } };
  const reply = await visit("/", BROWSER, "HEAD");
  assert.deepEqual([reply.status, await reply.text()], [403, ""]);
});

test("members of objects are no headers and no parameters", async () => {
  await visit("/?__proto__=1&constructor=2", { ...BROWSER, cookie: "__proto__=3" });
  const { query_params, cookies } = asked[0].event.request;
  assert.deepEqual(Object.entries(query_params), [["__proto__", "1"], ["constructor", "2"]]);
  assert.deepEqual(Object.entries(cookies), [["__proto__", "3"]]);
});

test("a host that others read otherwise is refused", async () => {
  for (const host of ["shop..example", "shop.example:70000", "[:::1]", "shop.example:"]) {
    const headers = new Headers(BROWSER);
    const reply = await protect({ method: "GET", url: `http://${host}/`, headers }, options);
    assert.equal(reply.status, 400, host);
  }
  assert.equal(asked.length, 0);
});

test("what Express would read otherwise is refused", async () => {
  const status = (url) =>
    new Promise((resolve) => {
      const headers = { host: "shop.example" };
      const request = { method: "GET", url, headers, rawHeaders: [], socket: {} };
      const response = { setHeader() {}, once() {}, end: () => resolve(response.statusCode) };
      tidegate(options)(request, response, (error) => resolve(error ?? "passed"));
    });
  const odd = ["/admin#x", "/a?b#c", "/admin\u00a0", "/a\\admin", "http://x/admin", "*", "/a b", ""];
  for (const target of odd) assert.equal(await status(target), 400, target);
  assert.equal(asked.length, 0);
  for (const target of ["/admin?x=\\", "//admin/..;x", "/%23"]) {
    assert.equal(await status(target), "passed", target);
    assert.equal(asked.at(-1).event.request.path, target.split("?")[0]);
  }
});

test("Express reports the status that the site answered", async () => {
  const request = {
    method: "GET", url: "/login", headers: { host: "shop.example" }, socket: {},
    rawHeaders: ["host", "shop.example"],
  };
  const response = new EventEmitter();
  await new Promise((next) => tidegate(options)(request, response, next));
  response.statusCode = 401;
  response.emit("finish");
  while (asked.length < 2) await new Promise((later) => setImmediate(later));
  assert.deepEqual(asked[1].event.fields, { status: "401" });
});
