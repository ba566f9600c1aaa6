import type { IncomingMessage, ServerResponse } from "node:http";
import type { AskedRequest, Options } from "./tidegate.js";

/** The request of a visitor, with the address of the other end of the connection. */
export interface NodeRequest extends AskedRequest {
  readonly address: string | undefined;
}

/**
 * Middleware for Express, Connect and whatever calls `(request, response, next)` of Node.
 *
 * Behind a proxy, set `trust proxy` of Express: the visitor's address and scheme are then those
 * that Express finds.
 */
export function tidegate(
  options: Omit<Options<NodeRequest>, "clientAddress"> &
    Partial<Pick<Options<NodeRequest>, "clientAddress">>,
): (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>;
