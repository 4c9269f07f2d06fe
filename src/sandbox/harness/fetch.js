// `fetch` as a dispatch of `http.fetch`: the host's rules decide where it goes, and it is recorded, limited and
// counted like any call. What comes back is a real `Response`.
//
// A body is text, bytes or URLSearchParams. A FormData has a random boundary and a stream can be read once, so
// neither would be the same in a replay: they are refused.

import { Bytes, Promise, getter, isView, keys, own, setOwn, uncurry } from "./intrinsics.js";
import { windowOf } from "./kinds.js";

const HttpRequest = Request;
const HttpResponse = Response;
const HttpHeaders = Headers;
const isPrototypeOf = uncurry(Object.prototype.isPrototypeOf);
const prototypes = {
  blob: Blob.prototype,
  buffer: ArrayBuffer.prototype,
  form: FormData.prototype,
  request: Request.prototype,
  search: URLSearchParams.prototype,
  stream: ReadableStream.prototype,
};
const request = {
  arrayBuffer: uncurry(Request.prototype.arrayBuffer),
  body: getter(Request.prototype, "body"),
  headers: getter(Request.prototype, "headers"),
  method: getter(Request.prototype, "method"),
  signal: getter(Request.prototype, "signal"),
  url: getter(Request.prototype, "url"),
};
const headers = {
  append: uncurry(Headers.prototype.append),
  forEach: uncurry(Headers.prototype.forEach),
};
const signals = {
  aborted: getter(AbortSignal.prototype, "aborted"),
  listen: uncurry(EventTarget.prototype.addEventListener),
  reason: getter(AbortSignal.prototype, "reason"),
};
const searchText = uncurry(URLSearchParams.prototype.toString);

/**
 * @param {import("./attempt.js").Attempt} attempt
 * @param {import("./dispatch.js").Calls} calls
 */
export function createFetch(attempt, calls) {
  /** @param {any} input @param {any} [init] @returns {any} a promise of a Response */
  return function fetch(input, init) {
    let asked;
    let argument;
    try {
      const body = bodyValue(init?.body);
      asked = new HttpRequest(input, init); // The platform checks what was asked for, and knows the content type.
      argument = argumentOf(asked, body);
    } catch (error) {
      return rejected(error);
    }
    const signal =
      init?.signal ??
      (isPrototypeOf(prototypes.request, input) ? request.signal(input) : undefined);
    const heard = signal !== undefined && signal !== null;
    if (heard && signals.aborted(signal)) return rejected(signals.reason(signal));
    const url = request.url(asked);
    const { dispatch, promise } = calls.start("http.fetch", argument, {
      convert: (/** @type {any} */ value) => responseOf(value, url),
    });
    // The dispatch goes on at the host, as one that lost a race does.
    if (heard) signals.listen(signal, "abort", () => dispatch?.fail(signals.reason(signal)));
    return promise;
  };

  /** @param {Request} asked @param {string | Uint8Array | undefined} body */
  function argumentOf(asked, body) {
    /** @type {Record<string, any>} */
    const argument = { url: request.url(asked) };
    const method = request.method(asked);
    if (method !== "GET") setOwn(argument, "method", method);
    const sent = {};
    headers.forEach(
      request.headers(asked),
      (/** @type {string} */ value, /** @type {string} */ name) => {
        setOwn(sent, name, value);
      },
    );
    if (keys(sent).length > 0) setOwn(argument, "headers", sent);
    if (body !== undefined) setOwn(argument, "body", body);
    // A Request that has a body of its own: the codec waits for its bytes.
    else if (request.body(asked)) setOwn(argument, "body", bytesOf(asked));
    return argument;
  }

  /** @param {Request} asked */
  async function bytesOf(asked) {
    return new Bytes(await attempt.operate(() => request.arrayBuffer(asked)));
  }
}

/** @param {any} error @returns {any} */
const rejected = (error) => new Promise((_, reject) => reject(error));

/** A body as text or bytes; undefined where there is none. @param {any} body */
function bodyValue(body) {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return body;
  if (typeof body !== "object") return `${body}`;
  if (isView(body) || isPrototypeOf(prototypes.buffer, body)) return windowOf(body);
  if (isPrototypeOf(prototypes.search, body)) return searchText(body);
  if (isPrototypeOf(prototypes.form, body)) {
    throw unsendable("a FormData", "URLSearchParams or text");
  }
  if (isPrototypeOf(prototypes.stream, body)) throw unsendable("a stream", "text or bytes");
  if (isPrototypeOf(prototypes.blob, body)) throw unsendable("a Blob", "await blob.bytes()");
  return `${body}`;
}

const Unsendable = TypeError;

/** @param {string} what @param {string} instead */
const unsendable = (what, instead) =>
  new Unsendable(`fetch cannot send ${what} as its body; send ${instead}`);

/** Whether a response of this status has no body. @param {number} status */
const isEmpty = (status) => status === 101 || status === 204 || status === 205 || status === 304;

/** @param {any} answer what `http.fetch` gave @param {string} url */
function responseOf(answer, url) {
  const received = new HttpHeaders();
  const given = own(answer, "headers") ?? {};
  const names = keys(given);
  for (let i = 0; i < names.length; i++) headers.append(received, names[i], `${given[names[i]]}`);
  const status = own(answer, "status") ?? 200;
  const response = new HttpResponse(isEmpty(status) ? null : (own(answer, "body") ?? null), {
    status,
    statusText: own(answer, "statusText") ?? "",
    headers: received,
  });
  return setOwn(response, "url", own(answer, "url") ?? url);
}
