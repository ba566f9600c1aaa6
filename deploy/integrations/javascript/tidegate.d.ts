/** A request as `fetch` handlers get it; anything with these members will do. */
export interface AskedRequest {
  readonly method: string;
  /** Absolute, as the visitor asked for it. */
  readonly url: string;
  readonly headers: Headers;
}

export interface Options<R extends AskedRequest = Request> {
  /** The address of Tidegate, without `/api/v1`. */
  url: string;
  /** Sent in `x-service-api-key`; keep it in a secret of your platform. */
  apiKey: string;
  /**
   * The address of the visitor, from where your platform has it. A header will do where the
   * platform itself sets it, such as `cf-connecting-ip`; otherwise a visitor could choose it.
   */
  clientAddress: (request: R) => string | null | undefined;
  /** The protocol of the request, such as `HTTP/2`, from where your platform has it. */
  protocol?: (request: R) => string | null | undefined;
  /** Whether a request passes without a decision; by default it is answered with 502. */
  failOpen?: boolean;
  /** How long a decision may take; 2000 by default. */
  timeoutMilliseconds?: number;
  /** Origin label of the events. */
  source?: string;
  /** Scheme and host of the site, as in `https://shop.example`, where `request.url` has others. */
  origin?: string;
  /** Called with each failure to get a decision. */
  onFailure?: (error: unknown) => void;
  /** Whether an answer of the site is reported, by its status; 400 and above by default. */
  outcomes?: (status: number) => boolean;
  /** Takes the place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** Gives the answer to a visitor, or null when the request is to be handed on. */
export function protect<R extends AskedRequest = Request>(
  request: R,
  options: Options<R>,
): Promise<Response | null>;

/**
 * Reports the site's answer to a request that passed, when it is a refusal: as a second event of the
 * request, with `fields.status`. Never throws; a failure goes to `onFailure`.
 */
export function report<R extends AskedRequest = Request>(
  request: R,
  status: number,
  options: Options<R>,
): Promise<void>;
