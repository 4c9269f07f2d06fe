// A Worker whose methods are tools, as src/tools/service.rs calls them: the tools of the cases.
//
// Which tools a run has is looked up by its label, so that runs do not meet here:
//
//   PUT /tools/LABEL   {name: {returns | throws | echo | rejects, delayMs?, never?}}
//   GET /calls/LABEL   {name: how often it was called}
//
// `rejects` breaks the RPC call itself, with an error of that name and message; tools by the name
// `listing` with `rejects` break the listing. Nothing here is bounded by itself: tests are.
import { WorkerEntrypoint } from "cloudflare:workers";
import { tagged } from "./tagged.js";

/** As good as never, and an end all the same for a request that nobody waits for. */
const NEVER_MS = 120_000;

/**
 * @typedef {object} Thrown
 * @property {string} [name]
 * @property {string} message
 * @property {string} [code]
 */

/**
 * @typedef {object} Tool
 * @property {unknown} [returns]
 * @property {string | Thrown} [throws]
 * @property {boolean} [echo]
 * @property {Thrown} [rejects]
 * @property {number} [delayMs]
 * @property {boolean} [never]
 */

/** @type {Map<string, Record<string, Tool>>} */
const tools = new Map();

/** @type {Map<string, Map<string, number>>} */
const calls = new Map();

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {Thrown} of */
function errorOf({ name, message }) {
  const error = new Error(message);
  if (name !== undefined) error.name = name;
  return error;
}

/** @param {string} context */
const labelOf = (context) => JSON.parse(context).label ?? "";

export default class Tools extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const [, noun, label = ""] = new URL(request.url).pathname.split("/");
    if (noun === "tools" && request.method === "PUT") {
      tools.set(label, /** @type {any} */ (await request.json()));
      return new Response(null, { status: 204 });
    }
    if (noun === "calls") return Response.json(Object.fromEntries(calls.get(label) ?? []));
    return new Response("PUT /tools/LABEL, GET /calls/LABEL", { status: 404 });
  }

  /** @param {string} context */
  async tools(context) {
    const own = tools.get(labelOf(context)) ?? {};
    if (own.listing?.rejects) throw errorOf(own.listing.rejects);
    return JSON.stringify(Object.keys(own));
  }

  /**
   * @param {string} path
   * @param {string} argument tagged JSON
   * @param {string} context
   */
  async call(path, argument, context) {
    const label = labelOf(context);
    const counts = calls.get(label) ?? new Map();
    calls.set(label, counts.set(path, (counts.get(path) ?? 0) + 1));
    const tool = tools.get(label)?.[path];
    if (tool === undefined) throw new Error(`the cases have no tool ${path}`);
    await sleep(tool.never ? NEVER_MS : (tool.delayMs ?? 0));
    if (tool.rejects !== undefined) throw errorOf(tool.rejects);
    if (tool.throws !== undefined) {
      const thrown = typeof tool.throws === "string" ? { message: tool.throws } : tool.throws;
      return JSON.stringify({ error: thrown });
    }
    return `{"value":${tool.echo ? argument : tagged(tool.returns ?? null)}}`;
  }
}
