// What every stand-in has in common: a log of the requests, faults on demand, and /__mocks.
//
// A stand-in is a class over this one: it answers the requests of the service it stands for from
// its state. Nothing here knows a service, and nothing here knows whether it runs in a Worker or
// in node: worker.mjs and node.mjs of each stand-in do.
import { page } from "./page.mjs";

/** Requests kept in the log; the oldest are dropped. */
const DEFAULT_LOG_LIMIT = 100;

/**
 * One request as the log keeps it.
 *
 * @typedef {object} Entry
 * @property {number} id Counts up from 1 and is never used again.
 * @property {string} method
 * @property {string} path Path and query.
 * @property {number} status
 * @property {boolean} changed Whether the state was another one afterwards.
 * @property {string[]} touched What it was about, as `kind:name`.
 * @property {boolean} known Whether the stand-in has such an endpoint.
 * @property {string} [fault] The fault that was injected.
 * @property {string} body As text, cut to 4,096 characters; secrets are the stand-in's to hide.
 */

/**
 * A fault to inject. Of several that fit, the first is taken.
 *
 * @typedef {object} Fault
 * @property {string} [method]
 * @property {string} [path] A regular expression over path and query.
 * @property {number} [after] How many fitting requests pass before the first is hit.
 * @property {number} [times] How many are hit; 1 unless told.
 * @property {number} status The answer.
 * @property {number} [retryAfter] Seconds, as the answer's `Retry-After`.
 * @property {boolean} [late] The request is carried out, and answered with `status` all the same.
 * @property {boolean} [half] The request is carried out by half: what it makes exists and is not whole.
 */

/**
 * What an endpoint answers.
 *
 * @typedef {object} Answer
 * @property {Response} response
 * @property {string[]} [touched]
 * @property {boolean} [known]
 * @property {string} [body] What the log keeps in place of the request's body.
 */

export class Mock {
  /** @type {Entry[]} */
  #log = [];
  /** @type {(Fault & {seen: number, hit: number})[]} */
  #faults = [];
  #count = 0;
  #logLimit;

  /**
   * Called after a request was carried out and logged, before it is answered. Tests use it to end
   * the client at exactly this point.
   *
   * @type {(entry: Entry) => Promise<void> | void}
   */
  answering = () => {};

  /** @param {{name: string, endpoints: string[], logLimit?: number}} options */
  constructor({ name, endpoints, logLimit = DEFAULT_LOG_LIMIT }) {
    this.name = name;
    this.endpoints = endpoints;
    this.#logLimit = logLimit;
  }

  /**
   * Answers one request of the service.
   *
   * @param {Request} _request
   * @param {URL} _url
   * @param {{half: boolean, body: Uint8Array}} _how
   * @returns {Promise<Answer>}
   */
  async answer(_request, _url, _how) {
    throw new Error("a stand-in has to answer");
  }

  /** The state as JSON, for the page, for tests, and to tell whether a request changed it. */
  snapshot() {
    return /** @type {Record<string, unknown>} */ ({});
  }

  /** Numbers for the page and for `meta`. */
  counters() {
    return /** @type {Record<string, number>} */ ({});
  }

  /** Forgets everything. */
  clear() {
    this.#log = [];
    this.#faults = [];
  }

  /** The log, oldest first. */
  get log() {
    return this.#log;
  }

  /** @param {Fault} fault */
  inject(fault) {
    this.#faults.push({ ...fault, seen: 0, hit: 0 });
  }

  /**
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/") return Response.redirect(new URL("/__mocks", url).href, 302);
    if (url.pathname === "/__mocks" || url.pathname.startsWith("/__mocks/")) {
      return this.#mocks(request, url);
    }
    const body = new Uint8Array(await request.clone().arrayBuffer());
    const path = url.pathname + url.search;
    const fault = this.#fault(request.method, path);
    const before = JSON.stringify(this.snapshot());
    /** @type {Answer} */
    let answer = { response: new Response(null, { status: fault?.status ?? 500 }) };
    const carriedOut = fault === undefined || fault.late === true || fault.half === true;
    if (carriedOut) {
      answer = await this.answer(request, url, { half: fault?.half === true, body });
    }
    const status = fault?.status ?? answer.response.status;
    /** @type {Entry} */
    const entry = {
      id: ++this.#count,
      method: request.method,
      path,
      status,
      changed: JSON.stringify(this.snapshot()) !== before,
      touched: answer.touched ?? [],
      known: !carriedOut || answer.known !== false,
      body: (answer.body ?? new TextDecoder().decode(body)).slice(0, 4_096),
      ...(fault === undefined
        ? {}
        : { fault: `${status}${fault.late ? " late" : ""}${fault.half ? " half" : ""}` }),
    };
    this.#log.push(entry);
    if (this.#log.length > this.#logLimit) this.#log.shift();
    await this.answering(entry);
    if (fault === undefined) return answer.response;
    return this.faulty(fault);
  }

  /**
   * The service's own shape of a failure.
   *
   * @param {Fault} fault
   * @returns {Response}
   */
  faulty({ status, retryAfter }) {
    /** @type {Record<string, string>} */
    const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    return Response.json({ message: `injected ${status}` }, { status, headers });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @returns {Fault | undefined}
   */
  #fault(method, path) {
    for (const fault of this.#faults) {
      if (fault.method !== undefined && fault.method !== method) continue;
      if (fault.path !== undefined && !new RegExp(fault.path).test(path)) continue;
      if (fault.hit >= (fault.times ?? 1)) continue;
      fault.seen += 1;
      if (fault.seen <= (fault.after ?? 0)) continue;
      fault.hit += 1;
      return fault;
    }
    return undefined;
  }

  /**
   * @param {Request} request
   * @param {URL} url
   * @returns {Promise<Response>}
   */
  async #mocks(request, url) {
    const rest = url.pathname.slice("/__mocks".length).replace(/^\//, "");
    switch (`${request.method} ${rest.split("/")[0]}`) {
      case "GET ":
        return page(this);
      case "GET meta":
        return Response.json({ name: this.name, requests: this.#count, counters: this.counters() });
      case "GET messages": {
        const id = rest.split("/")[1];
        if (id === undefined) return Response.json({ messages: this.#log });
        const entry = this.#log.find((candidate) => String(candidate.id) === id);
        return entry
          ? Response.json(entry)
          : Response.json({ error: "no such message" }, { status: 404 });
      }
      case "GET state":
        return Response.json(this.snapshot());
      case "POST clear":
        this.clear();
        return Response.json({ ok: true });
      case "POST faults": {
        const faults = await request.json();
        const list = Array.isArray(faults) ? faults : [faults];
        if (!list.every((fault) => Number.isInteger(fault?.status))) {
          return Response.json({ error: "a fault needs a `status`" }, { status: 400 });
        }
        for (const fault of list) this.inject(fault);
        return Response.json({ ok: true, faults: list.length });
      }
      default:
        return Response.json({ error: "no such page of the stand-in" }, { status: 404 });
    }
  }
}
