/** Middleware for Express, Connect and whatever calls `(request, response, next)` of Node. */

import { protect, report } from "./tidegate.js";

/**
 * A target in which Express and rules find the same path. Of another one Express cuts a fragment
 * and a final byte A0, reads `http://other/path` as its path, and may take `\` for `/`.
 */
const TARGET = /^\/[!"$->@-[\]-~]*(?:\?[!"$-~]*)?$/;

export function tidegate(options) {
  const settings = {
    clientAddress: (asked) => asked.address,
    protocol: (asked) => asked.protocol,
    ...options,
  };
  return async (request, response, next) => {
    let reply;
    try {
      const visitor = asked(request);
      reply = await protect(visitor, settings);
      if (reply === null) {
        response.once("finish", () => report(visitor, response.statusCode, settings));
      }
      if (reply !== null) await send(reply, response);
    } catch (error) {
      next(error);
      return;
    }
    if (reply === null) next();
  };
}

/** The request with its address as it was written: `Request` would write it anew. */
function asked(request) {
  const headers = new Headers();
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    headers.append(request.rawHeaders[at], request.rawHeaders[at + 1]);
  }
  // Express fills in the first of each where `trust proxy` is set.
  const scheme = request.protocol ?? (request.socket.encrypted ? "https" : "http");
  const target = request.originalUrl ?? request.url;
  return {
    method: request.method,
    // An empty address is refused.
    url: TARGET.test(target) ? `${scheme}://${request.headers.host ?? ""}${target}` : "",
    headers,
    // Express has the scheme in `protocol`.
    protocol: `HTTP/${request.httpVersion}`,
    address: request.ip ?? request.socket.remoteAddress,
  };
}

async function send(reply, response) {
  response.statusCode = reply.status;
  for (const [name, value] of reply.headers) response.setHeader(name, value);
  response.end(Buffer.from(await reply.arrayBuffer()));
}
