/** Runs the worker as its platform does: hands it requests, and fetches the site behind it. */

import { createServer } from "node:http";
import worker from "../../deploy/integrations/javascript/worker/worker.js";

const page = "<!doctype html><title>A small site</title><h1>A small site</h1>";
createServer((_, response) => {
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(page);
}).listen(Number(process.env.SITE_PORT), "127.0.0.1");

const ask = globalThis.fetch;
globalThis.fetch = (target, options) =>
  typeof target === "string"
    ? ask(target, options)
    : ask(`http://127.0.0.1:${process.env.SITE_PORT}/`, { redirect: "manual" });

createServer(async (request, response) => {
  const headers = new Headers();
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    if (/^(connection|keep-alive|transfer-encoding|upgrade)$/i.test(request.rawHeaders[at])) continue;
    headers.append(request.rawHeaders[at], request.rawHeaders[at + 1]);
  }
  headers.set("cf-connecting-ip", request.socket.remoteAddress);
  const url = new URL(`http://${request.headers.host}${request.url}`);
  const given = new Request(url, { method: request.method, headers });
  given.cf = { httpProtocol: `HTTP/${request.httpVersion}` };
  const reply = await worker.fetch(given, process.env);
  response.statusCode = reply.status;
  for (const [name, value] of reply.headers) {
    if (!/^(content-encoding|transfer-encoding|connection|keep-alive)$/i.test(name)) {
      response.setHeader(name, value);
    }
  }
  response.end(Buffer.from(await reply.arrayBuffer()));
}).listen(Number(process.env.PORT), "127.0.0.1");
