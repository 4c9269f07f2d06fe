// A stand for tests of reports: the worker in workerd, the Sentry mock behind it, and a tap in
// between that can be told to fail. Every detail of miniflare 5's construction for them is here.
import { existsSync, readFileSync } from "node:fs";
import { Miniflare, Response } from "miniflare";

const ROOT = new URL("../../", import.meta.url);
const COMPATIBILITY_DATE = "2026-08-01";

/** The DSN of all cases; the tap answers for its host, no port is opened there. */
export const DSN = "http://public@127.0.0.1:9100/1";

/** @param {string} path */
const esm = (path) => ({ type: "esm", contents: readFileSync(new URL(path, ROOT), "utf8") });

/** @param {string} path */
const wasm = (path) => ({
  type: "wasm",
  contents: new Uint8Array(readFileSync(new URL(path, ROOT))),
});

/** The mock as a worker of its own, on `port` (0: any). */
export async function startMock({ port = 0 } = {}) {
  const mf = new Miniflare({
    host: "127.0.0.1",
    port,
    workers: [
      {
        config: {
          name: "mock",
          compatibilityDate: COMPATIBILITY_DATE,
          compatibilityFlags: ["nodejs_compat"],
          manifest: {
            mainModule: "worker.js",
            modules: {
              "worker.js": esm("mocks/sentry/worker.js"),
              "page.js": esm("mocks/sentry/page.js"),
            },
          },
          env: { STATE: { type: "durable-object", worker: "mock", exportName: "State" } },
          exports: { State: { type: "durable-object", storage: "sqlite" } },
        },
      },
    ],
  });
  const url = await mf.ready;
  /** @param {string} path @param {any} [init] */
  const call = async (path, init) => (await fetch(new URL(path, url), init)).json();
  return {
    url,
    /** Everything that came for `token`. */
    read: async (token = "public") => (await call(`/__mocks.json?token=${token}`)).requests,
    /** How to answer from here on. */
    tell: (answer, token = "public") =>
      call(`/__mocks?token=${token}`, { method: "PUT", body: JSON.stringify(answer) }),
    clear: (token = "public") => call(`/__mocks?token=${token}`, { method: "DELETE" }),
    stop: () => mf.dispose(),
  };
}

/**
 * The worker with `variables`, and the mock behind it.
 * @param {{ variables?: Record<string, string>, modules?: Record<string, any> }} [options]
 */
export async function start({ variables = {} } = {}) {
  if (!existsSync(new URL("build/index.js", ROOT))) {
    throw new Error("build/index.js is missing: run `npm run build` first");
  }
  const mock = await startMock();
  /** @type {{ url: string, method: string }[]} */
  const outbound = [];
  /** @type {{ fail: ((request: any) => any) | undefined }} */
  const tap = { fail: undefined };
  const env = { SENTRY_DSN: DSN, ...variables };
  const mf = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    workers: [
      {
        config: {
          name: "holdfast",
          compatibilityDate: COMPATIBILITY_DATE,
          compatibilityFlags: ["nodejs_compat"],
          manifest: {
            mainModule: "src/entry.js",
            modules: {
              "src/entry.js": esm("src/entry.js"),
              "src/report/in_flight.js": esm("src/report/in_flight.js"),
              "build/index.js": esm("build/index.js"),
              "build/index_bg.wasm": wasm("build/index_bg.wasm"),
            },
          },
          env: Object.fromEntries(
            Object.entries(env)
              .filter(([, value]) => value !== "")
              .map(([name, value]) => [name, { type: "text", value }]),
          ),
        },
        dev: {
          outboundService: {
            type: "fetcher",
            handler: async (/** @type {any} */ request) => {
              outbound.push({ url: request.url, method: request.method });
              const failed = await tap.fail?.(request);
              if (failed !== undefined) return failed;
              const to = new URL(request.url);
              if (to.host !== "127.0.0.1:9100") return new Response("no such host", { status: 599 });
              const headers = new Headers(request.headers);
              headers.delete("host");
              headers.delete("transfer-encoding");
              const answer = await fetch(new URL(to.pathname + to.search, mock.url), {
                method: request.method,
                headers: [...headers].filter(([name]) => name !== "content-length"),
                body: Buffer.from(await request.arrayBuffer()),
              });
              return new Response(await answer.arrayBuffer(), {
                status: answer.status,
                headers: Object.fromEntries(answer.headers),
              });
            },
          },
        },
      },
    ],
  });
  const url = await mf.ready;
  return {
    url,
    mock,
    outbound,
    tap,
    /** @param {string} path @param {any} [init] */
    fetch: (path, init) => fetch(new URL(path, url), init),
    stop: async () => {
      await mf.dispose();
      await mock.stop();
    },
  };
}

/** @param {number} ms */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Asks until the answer is there, at most 5 s.
 * @template T
 * @param {() => Promise<T | undefined | false>} ask
 * @returns {Promise<T>}
 */
export async function eventually(ask) {
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await sleep(50);
  }
  throw new Error("waited 5 s in vain");
}

/**
 * An envelope of one event.
 * @param {any} event
 * @param {Record<string, unknown>} [header]
 */
export function envelope(event, header = {}) {
  const payload = JSON.stringify(event);
  const item = JSON.stringify({ type: "event", length: Buffer.byteLength(payload) });
  return `${JSON.stringify(header)}\n${item}\n${payload}\n`;
}

/** The message of a spent budget, as the worker writes it. */
export const TIMEOUT = "Execution timed out after 90s: Holdfast stopped watching the sandbox.";
