// A stand-in for the parts of the Cloudflare API that wrangler and our scripts call.
//
// It keeps what was made (workers with their versions, deployments, secrets, schedules and
// addresses; D1 databases; KV namespaces; workflows) and refuses what the real one refuses: a
// binding to a database that does not exist, a second database of the same name, a Worker Loader
// on the free plan, a call without a token. What it does not know it answers with 404 and marks in
// the log as unknown. The shapes of answers are those that wrangler 4.164.0 reads.
//
// Databases run SQL and workers run code through `Platform`, which worker.mjs and node.mjs bring.
import { Mock } from "../kit/mock.mjs";
import { tokenOf } from "../kit/token.mjs";
import { account } from "./account.mjs";
import { Page, Refused, withoutSecret } from "./api.mjs";
import { database } from "./database.mjs";
import { kv } from "./kv.mjs";
import { workers } from "./workers.mjs";
import { workflows } from "./workflows.mjs";

/**
 * @typedef {{type: string, name: string, [key: string]: any}} Binding
 *
 * @typedef {object} Version
 * @property {string} id
 * @property {number} number
 * @property {string} created_on
 * @property {string} main
 * @property {{name: string, type: string, bytes: number}[]} modules
 * @property {Binding[]} bindings With the secrets' values.
 * @property {string} compatibility_date
 * @property {string[]} compatibility_flags
 * @property {Record<string, string>} annotations
 *
 * @typedef {object} Script
 * @property {string} tag
 * @property {string} created_on
 * @property {Version[]} versions Oldest first.
 * @property {{id: string, created_on: string, version_id: string, annotations: Record<string, string>}[]} deployments Oldest first.
 * @property {{enabled: boolean, previews_enabled: boolean}} subdomain
 * @property {string[]} schedules
 * @property {string} [migration_tag]
 * @property {Record<string, unknown>} settings
 * @property {Record<string, number>} secretRevisions
 *
 * @typedef {{uuid: string, name: string, created_at: string, changes: number, tables: string[], failuresLeft: number}} Database
 * @typedef {{id: string, title: string, keys: Record<string, string>}} Namespace
 * @typedef {{id: string, name: string, script_name: string, class_name: string, created_on: string, instances: Record<string, {id: string, status: string}>}} Workflow
 *
 * @typedef {object} State
 * @property {"paid" | "free"} plan
 * @property {number} accounts How many the token reaches.
 * @property {string | null} subdomain
 * @property {number} pageSize The most that one page of a list holds.
 * @property {number} made Counts what was made; ids come from it.
 * @property {Record<string, Script>} scripts
 * @property {Record<string, Database>} databases
 * @property {Record<string, Namespace>} namespaces
 * @property {Record<string, Workflow>} workflows
 *
 * @typedef {{results: Record<string, unknown>[], meta: Record<string, unknown>, changed: boolean}} Rows
 *
 * @typedef {object} Platform What differs between node and a Worker.
 * @property {(uuid: string, statements: {sql: string, params: unknown[]}[]) => Promise<Rows[]>} query
 *   All of the statements or none.
 * @property {(uuid: string) => Promise<string[]>} tables
 * @property {(uuid: string) => Promise<void>} dropDatabase
 * @property {(versionId: string, modules: Map<string, Uint8Array>) => Promise<void>} keep Stores the code of a version.
 * @property {(cloud: Cloud, name: string, version: Version, request: Request) => Promise<Response>} run
 *   Answers a request to a deployed worker.
 *
 * @typedef {object} Call One request of the API, as an endpoint gets it.
 * @property {Cloud} cloud
 * @property {State} state
 * @property {string[]} args What the path's placeholders matched.
 * @property {Request} request
 * @property {URL} url
 * @property {Uint8Array} body
 * @property {boolean} half
 * @property {(...touched: string[]) => void} touch
 * @property {(text: string) => void} logAs What the log keeps as body.
 *
 * @typedef {[method: string, path: string, answer: (call: Call) => unknown]} Endpoint
 */

/** @type {Endpoint[]} */
const ENDPOINTS = [...account, ...workers, ...database, ...kv, ...workflows];
const ROUTES = ENDPOINTS.map(([method, path, answer]) => ({
  method,
  pattern: new RegExp(`^/client/v4${path.replace(/:[a-z]+/g, "([^/]+)")}$`),
  answer,
}));

/** @returns {State} */
const emptyState = () => ({
  plan: "paid",
  accounts: 1,
  subdomain: "stand-in",
  pageSize: 100,
  made: 0,
  scripts: {},
  databases: {},
  namespaces: {},
  workflows: {},
});

export class Cloud extends Mock {
  /** @type {State} */
  state;
  /** @type {Platform} */
  platform;

  /** @param {{platform: Platform, state?: State, logLimit?: number}} options */
  constructor({ platform, state = emptyState(), logLimit }) {
    super({
      name: "Cloudflare API",
      endpoints: [
        ...ENDPOINTS.map(([method, path]) => `${method} /client/v4${path}`),
        "ANY /__workers/:name/… (a deployed worker)",
        "POST /__mocks/settings {plan?, accounts?, subdomain?, pageSize?}",
      ],
      ...(logLimit === undefined ? {} : { logLimit }),
    });
    this.platform = platform;
    this.state = state;
  }

  /** @override */
  clear() {
    super.clear();
    for (const uuid of Object.keys(this.state.databases)) void this.platform.dropDatabase(uuid);
    this.state = { ...emptyState(), made: this.state.made };
  }

  /** @override */
  counters() {
    const { scripts, databases, namespaces, workflows: flows } = this.state;
    return {
      workers: Object.keys(scripts).length,
      databases: Object.keys(databases).length,
      "KV namespaces": Object.keys(namespaces).length,
      workflows: Object.keys(flows).length,
    };
  }

  /** @override No secret's value is in it, only how often each was set. */
  snapshot() {
    const { scripts, ...rest } = this.state;
    return {
      ...rest,
      scripts: Object.fromEntries(
        Object.entries(scripts).map(([name, script]) => [
          name,
          {
            ...script,
            versions: script.versions.map((version) => ({
              ...version,
              bindings: version.bindings.map((binding) => withoutSecret(binding)),
            })),
          },
        ]),
      ),
    };
  }

  /** A new id in the form of a UUID; counted, so that a run of the same calls gives the same ids. */
  uuid() {
    this.state.made += 1;
    const hex = this.state.made.toString(16).padStart(8, "0");
    return `${hex}-0000-4000-8000-${hex.padStart(12, "0")}`;
  }

  /**
   * The script's version that answers requests, or nothing while it was never deployed.
   *
   * @param {string} name
   */
  live(name) {
    const script = this.state.scripts[name];
    const deployment = script?.deployments.at(-1);
    return script?.versions.find((version) => version.id === deployment?.version_id);
  }

  /**
   * @override
   * @param {Request} request
   * @param {URL} url
   * @param {{half: boolean, body: Uint8Array}} how
   */
  async answer(request, url, { half, body }) {
    if (url.pathname.startsWith("/__workers/")) return this.#visit(request, url, body);
    /** @type {string[]} */
    const touched = [];
    const route = ROUTES.find(
      (candidate) => candidate.method === request.method && candidate.pattern.test(url.pathname),
    );
    if (tokenOf(request) === undefined) {
      return {
        response: failure(new Refused(400, 9106, "Authentication failed: no token was sent")),
      };
    }
    if (route === undefined) {
      const refused = new Refused(
        404,
        7003,
        `Could not route to ${url.pathname}, perhaps your object identifier is invalid?`,
      );
      return { response: failure(refused), known: false };
    }
    const args = (route.pattern.exec(url.pathname) ?? []).slice(1).map(decodeURIComponent);
    let text;
    try {
      const result = await route.answer({
        cloud: this,
        state: this.state,
        args: url.pathname.startsWith("/client/v4/accounts/") ? args.slice(1) : args,
        request,
        url,
        body,
        half,
        touch: (...names) => touched.push(...names),
        logAs: (logged) => (text = logged),
      });
      const response = result instanceof Response ? result : success(result);
      return { response, touched, ...(text === undefined ? {} : { body: text }) };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { response: failure(error), touched, ...(text === undefined ? {} : { body: text }) };
    }
  }

  /**
   * @override
   * @param {Request} request
   */
  async fetch(request) {
    const url = new URL(request.url);
    if (request.method === "POST" && url.pathname === "/__mocks/settings") {
      const { plan, subdomain, pageSize, accounts } = await request.json();
      if (plan !== undefined) this.state.plan = plan;
      if (subdomain !== undefined) this.state.subdomain = subdomain;
      if (pageSize !== undefined) this.state.pageSize = pageSize;
      if (accounts !== undefined) this.state.accounts = accounts;
      return Response.json({ ok: true });
    }
    return super.fetch(request);
  }

  /**
   * @override
   * @param {import("../kit/mock.mjs").Fault} fault
   */
  faulty({ status, retryAfter }) {
    // 10000 is what the real one says to a token that it does not take.
    const code = status === 401 || status === 403 ? 10000 : 10001;
    const response = failure(new Refused(status, code, `injected ${status}`));
    if (retryAfter !== undefined) response.headers.set("retry-after", String(retryAfter));
    return response;
  }

  /**
   * A request to a deployed worker: `/__workers/NAME/…` or `/__workers/VERSION-NAME/…`.
   *
   * @param {Request} request
   * @param {URL} url
   * @param {Uint8Array} body
   */
  async #visit(request, url, body) {
    const [, , host = "", ...path] = url.pathname.split("/");
    const byVersion = /^([0-9a-f]{8})-(.+)$/.exec(host);
    const name = this.state.scripts[host] ? host : (byVersion?.[2] ?? host);
    const script = this.state.scripts[name];
    const version =
      name === host
        ? this.live(host)
        : script?.versions.find((candidate) => candidate.id.startsWith(byVersion?.[1] ?? "-"));
    const reachable =
      name === host ? script?.subdomain.enabled : script?.subdomain.previews_enabled;
    const touched = [`visit:${host}`];
    if (version === undefined || !reachable) {
      return { response: new Response("There is nothing here yet", { status: 404 }), touched };
    }
    const inner = new Request(new URL(`/${path.join("/")}${url.search}`, url), {
      method: request.method,
      headers: request.headers,
      ...(request.method === "GET" || request.method === "HEAD"
        ? {}
        : { body: /** @type {any} */ (body) }),
    });
    return { response: await this.platform.run(this, name, version, inner), touched };
  }
}

/** @param {unknown} result */
function success(result) {
  const envelope = { success: true, errors: [], messages: [] };
  if (result instanceof Page) {
    return Response.json({ ...envelope, result: result.items, result_info: result.info });
  }
  return Response.json({ ...envelope, result: result ?? null });
}

/** @param {Refused} refused */
function failure({ status, code, message }) {
  return Response.json(
    { success: false, errors: [{ code, message }], messages: [], result: null },
    { status },
  );
}
