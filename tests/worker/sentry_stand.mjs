// A stand for tests of reports: the worker, the Sentry mock behind it, and a tap between them
// that can be told to fail. The DSN's host is one that nobody listens on: the tap answers for
// it, so that nothing depends on a free port.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Log, LogLevel, Miniflare } from "miniflare";
import { start as startWorker } from "./harness.mjs";

const ROOT = new URL("../../", import.meta.url);

/** The DSN of all cases. */
export const DSN = "http://public@127.0.0.1:9100/1";

/** @typedef {Awaited<ReturnType<typeof start>>} Stand */

/**
 * One request as the mock tells it.
 * @typedef {{ path: string, query: string, headers: Record<string, string>, bytes: number,
 *   sha256: string, status: number, header: any, items: { header: any, bytes: number, json?: any }[],
 *   problem: string | null, bodyBase64: string | null }} Received
 */

/**
 * Starts the mock, on any port.
 *
 * @param {{ port?: number }} [options]
 */
export async function startMock({ port = 0 } = {}) {
  const esm = (/** @type {string} */ name) => ({
    type: /** @type {const} */ ("esm"),
    contents: readFileSync(new URL(`mocks/sentry/${name}`, ROOT), "utf8"),
  });
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port,
    cf: false, // else it is fetched
    log: new Log(LogLevel.NONE),
    workers: [
      {
        config: {
          name: "mock",
          compatibilityDate: "2026-08-01",
          compatibilityFlags: ["nodejs_compat"],
          manifest: {
            mainModule: "worker.js",
            modules: { "worker.js": esm("worker.js"), "page.js": esm("page.js") },
          },
          env: { STATE: { type: "durable-object", worker: "mock", exportName: "State" } },
          exports: { State: { type: "durable-object", storage: "sqlite" } },
        },
      },
    ],
  });
  const url = await miniflare.ready;

  /**
   * @param {string} method
   * @param {string} token
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async function mocks(method, token, body) {
    const place = new URL(`/__mocks.json?token=${encodeURIComponent(token)}`, url);
    const answer = await fetch(place, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    return answer.json();
  }

  return {
    url,
    /**
     * Everything that came for a token, in order.
     * @returns {Promise<Received[]>}
     */
    read: async (token = "public") => (await mocks("GET", token)).requests,
    /**
     * How to answer from here on.
     * @param {Record<string, unknown>} answer
     */
    tell: (answer, token = "public") => mocks("PUT", token, answer),
    clear: (token = "public") => mocks("DELETE", token),
    stop: () => miniflare.dispose(),
  };
}

/**
 * Starts a worker of one module, for SDKs that run in workerd. Its network is the machine's.
 *
 * @param {string} contents
 */
export async function startModule(contents) {
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.NONE),
    workers: [
      {
        config: {
          name: "module",
          compatibilityDate: "2026-08-01",
          compatibilityFlags: ["nodejs_compat"],
          manifest: {
            mainModule: "module.js",
            modules: { "module.js": { type: "esm", contents } },
          },
        },
      },
    ],
  });
  const url = await miniflare.ready;
  return { url, stop: () => miniflare.dispose() };
}

/**
 * Starts a worker whose Sentry server loses connections: it takes each envelope whole, and says
 * nothing where `answers` says so.
 *
 * @param {(count: number) => boolean} answers asked with the number of the request, from 1
 */
export async function startWithLossyServer(answers) {
  /** @type {string[]} */
  const bodies = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    bodies.push(body);
    if (answers(bodies.length)) response.end("{}");
    else request.socket.destroy();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const worker = await startWorker({
    vars: { SENTRY_DSN: `http://public@127.0.0.1:${port}/1`, SENTRY_PROBE: "true" },
    outbound: "network",
  });
  return {
    /** What came, in order, answered or not. */
    bodies,
    /** @param {string} path @param {string} body */
    post: (path, body) => worker.fetch(path, { method: "POST", token: null, body }),
    async stop() {
      await worker.stop();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * Starts the worker with the mock behind it.
 *
 * @param {{ vars?: Record<string, string> }} [options] `SENTRY_DSN: ""` is none
 */
export async function start({ vars = {} } = {}) {
  if (!existsSync(new URL("build/index.js", ROOT))) throw new Error("npm run build comes first");
  const mock = await startMock();
  /** Answers in place of the mock, where it answers at all. */
  const tap = {
    /** @type {((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined} */
    answer: undefined,
  };
  const worker = await startWorker({
    vars: { SENTRY_DSN: DSN, SENTRY_PROBE: "true", ...vars },
    outbound: async (request) => {
      const tapped = await tap.answer?.(request);
      if (tapped !== undefined) return tapped;
      const to = new URL(request.url);
      if (to.host !== "127.0.0.1:9100") return new Response("no such host", { status: 599 });
      const headers = new Headers(request.headers);
      for (const name of ["host", "connection", "content-length", "transfer-encoding"]) {
        headers.delete(name);
      }
      const answer = await fetch(new URL(to.pathname + to.search, mock.url), {
        method: request.method,
        headers,
        body: await request.arrayBuffer(),
        redirect: "manual",
      });
      const passed = new Headers(answer.headers);
      // fetch has undone them.
      for (const name of ["content-encoding", "content-length", "transfer-encoding"]) {
        passed.delete(name);
      }
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers: passed });
    },
  });
  return {
    url: worker.url,
    sent: worker.sent,
    logs: worker.logs,
    mock,
    tap,
    /**
     * Posts to the worker.
     * @param {string} path
     * @param {import("./harness.mjs").Init} [init]
     */
    post: (path, init) => worker.fetch(path, { method: "POST", token: null, ...init }),
    /** @param {string} path @param {import("./harness.mjs").Init} [init] */
    fetch: (path, init) => worker.fetch(path, { token: null, ...init }),
    /**
     * What of the worker's own, and what of clients, has come.
     */
    async received() {
      const all = await mock.read();
      const isOurs = (/** @type {Received} */ { header }) => header?.sdk?.name === "holdfast";
      const ours = all.filter(isOurs);
      return {
        clients: all.filter((one) => !isOurs(one)),
        events: ours.flatMap(({ items }) => items.filter((item) => item.header.type === "event")),
        discarded: discarded(
          ours.map(({ items }) => items[0]?.json).filter((json) => json?.discarded_events),
        ),
        reports: ours.filter(({ items }) => items[0]?.header.type === "client_report").length,
      };
    },
    async stop() {
      await worker.stop();
      await mock.stop();
    },
  };
}

/**
 * Discarded quantities by reason and category: `{"event_processor/error": 1}`.
 *
 * @param {{ discarded_events: { reason: string, category: string, quantity: number }[] }[]} reports
 * @returns {Record<string, number>}
 */
export function discarded(reports) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { discarded_events: entries } of reports) {
    for (const { reason, category, quantity } of entries) {
      const key = `${reason}/${category}`;
      sums[key] = (sums[key] ?? 0) + quantity;
    }
  }
  return Object.fromEntries(Object.entries(sums).sort());
}

/**
 * An envelope of one event, and what else is given.
 *
 * @param {unknown} event
 * @param {{ header?: Record<string, unknown>, more?: string }} [options]
 */
export function envelope(event, { header = {}, more = "" } = {}) {
  const payload = JSON.stringify(event);
  const item = JSON.stringify({ type: "event", length: Buffer.byteLength(payload) });
  return `${JSON.stringify(header)}\n${item}\n${payload}\n${more}`;
}

/** The message of a spent budget, as the worker writes it. */
export const TIMEOUT = "Execution timed out after 90s: Holdfast stopped watching the sandbox.";
