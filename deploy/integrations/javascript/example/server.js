/** A site of one page behind Tidegate, on Node alone; `app.use(guard)` is the same in Express. */

import { createServer } from "node:http";
import { tidegate } from "../express.js";

const guard = tidegate({
  url: process.env.TIDEGATE_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.TIDEGATE_KEY,
  source: "javascript-example",
});

function page(request, response) {
  const asked = request.url.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(`<!doctype html><title>A small site</title><h1>A small site</h1><p>${asked}`);
}

createServer((request, response) => {
  guard(request, response, (error) => {
    if (error) response.writeHead(500).end();
    else page(request, response);
  });
}).listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
