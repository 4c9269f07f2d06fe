// The worker in workerd, for tests; the one file that knows the shape of miniflare 5.
//
//   const w = await start({ vars: { HOLDFAST_BUDGET_EXECUTE_MS: "2000" } });
//   after(() => w.stop());
//   const run = await w.execute("return 6 * 7");
//
// The worker is what ships: src/entry.js over build/, with the bindings of wrangler.toml and the
// migrations applied. Its address is a real socket, so any client can talk to it. Every wait is
// bounded: a test that hangs would hang every other test of its process.
//
// `start` runs it within this process' care; `startProcess` in a process that can be killed like
// a machine that loses its power, and started again on the same state.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import { Log, LogLevel, Miniflare, Response as WorkerdResponse } from "miniflare";
import { parse } from "smol-toml";
import { staleness } from "../../scripts/build.mjs";
import { serve } from "../../scripts/lib/command.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";
import { statements } from "../../scripts/lib/sql.mjs";
import { V8_FLAGS } from "../../scripts/lib/workerd.mjs";

const START_MS = 60_000; // a second, on a machine that does nothing else
const STOP_MS = 10_000;
const REQUEST_MS = 30_000;

/** Secrets of every test worker; a test's own `vars` win over them. */
export const SECRETS = {
  HOLDFAST_ADMIN_TOKEN: "admin-token-of-the-tests",
  HOLDFAST_SIGNING_KEY: createHash("sha256").update("signing key of the tests").digest("hex"),
  HOLDFAST_SECRETS_KEY: createHash("sha256").update("secrets key of the tests").digest("hex"),
};

/** What `npm start` sets, too: pages of this machine may call, and `Host` must name it. */
const DEVELOPMENT = { HOLDFAST_ALLOWED_ORIGINS: "loopback" };

// As `npm start` has it.
Object.assign(process.env, V8_FLAGS);

/** The admin token that requests carry unless they say otherwise. */
export const ADMIN_TOKEN = SECRETS.HOLDFAST_ADMIN_TOKEN;

/**
 * @typedef {object} Options
 * @property {Record<string, string>} [vars] variables and secrets; `HOLDFAST_…`
 * @property {string} [state] folder of the embedded D1; without one it lives in memory. It is the
 *   folder that `npm start -- --state` takes, too
 * @property {number} [port] of the first copy; any free one without
 * @property {number} [copies] of the worker, on one D1: isolates that share nothing else
 * @property {Record<string, string>[]} [copyVars] variables of one copy, over those of all
 * @property {string} [main] the worker's main module, from the top of the checkout; that of
 *   wrangler.toml without
 * @property {Neighbour[]} [neighbours] other Workers beside it
 */

/**
 * A Worker beside ours, in the same workerd, with an address of its own.
 *
 * @typedef {object} Neighbour
 * @property {string} name
 * @property {string} main its main module, from the top of the checkout
 * @property {string} [binding] the service binding by which ours calls it
 * @property {boolean} [loader] whether it has the binding LOADER
 * @property {boolean} [database] whether it has a database of its own, DB
 * @property {Record<string, string>} [services] its own service bindings: the neighbours' names
 * @property {string[]} [flags] its compatibility flags
 */

/**
 * @typedef {Options & {outbound?: "network" | ((request: Request) => Response | Promise<Response>)}} StartOptions
 *   `outbound` answers what leaves the worker. Without one it is refused; "network" lets it out,
 *   for mocks on loopback that must see a connection end.
 */

/** @typedef {RequestInit & {token?: string | null, timeoutMs?: number}} Init */

/**
 * Starts the worker.
 *
 * @param {StartOptions} [options]
 */
export async function start(options = {}) {
  const { outbound } = options;
  /** @type {{method: string, url: string}[]} */
  const sent = [];
  /** @type {string[]} */
  const logs = [];
  const miniflare = new Miniflare({
    ...(await shape(options)),
    handleStructuredLogs: ({ level, message }) => {
      logs.push(`${level}: ${message}`);
      if (process.env.HOLDFAST_TEST_LOGS) console.error(`# ${level}: ${message}`);
    },
  });

  /**
   * @param {StartOptions} opts
   */
  async function shape(opts) {
    const { workers, ...rest } = await miniflareOptions(opts);
    if (outbound === "network") return { workers, ...rest };
    const answer = outbound ?? (() => new Response("this test lets nothing out", { status: 502 }));
    const outboundService = {
      type: /** @type {const} */ ("fetcher"),
      /** @param {any} request miniflare's own Request, which has what ours has */
      handler: async (request) => {
        sent.push({ method: request.method, url: request.url });
        const { body, status, headers } = await answer(request);
        return new WorkerdResponse(/** @type {any} */ (body), { status, headers: [...headers] });
      },
    };
    return {
      workers: workers.map((worker) => ({ ...worker, dev: { ...worker.dev, outboundService } })),
      ...rest,
    };
  }

  try {
    await within(START_MS, "workerd to start", miniflare.ready);
    const database = /** @type {any} */ (await miniflare.getD1Database("DB", copyName(1)));
    await migrate(database);
    const urls = await Promise.all(
      copyNames(options.copies).map((name) => miniflare.unsafeGetDirectURL(name)),
    );
    const copies = urls.map((url) => clientOf(url.origin));
    /** @type {Record<string, string>} */
    const neighbours = {};
    for (const { name } of options.neighbours ?? []) {
      neighbours[name] = (await miniflare.unsafeGetDirectURL(name)).origin;
    }
    return {
      .../** @type {Client} */ (copies[0]),
      /** A client of each copy of the worker. */
      copies,
      /** The address of each neighbour, by its name. */
      neighbours,
      /** What left the worker, in order. */
      sent,
      /** What the worker wrote to its console. */
      logs,

      /**
       * Runs one statement on the worker's own database.
       *
       * @param {string} sql
       * @param {...unknown} params
       * @returns {Promise<any[]>} its rows
       */
      async d1(sql, ...params) {
        const statement = database.prepare(sql).bind(...params);
        return (await within(REQUEST_MS, `D1: ${sql}`, statement.all())).results;
      },

      /**
       * Fires the cron trigger, and says how it went.
       *
       * @param {number} [copy] which copy gets it, from 1
       */
      async scheduled(copy = 1) {
        const worker = /** @type {any} */ (await miniflare.getWorker(copyName(copy)));
        const fired = worker.scheduled({ cron: "* * * * *" });
        const { outcome } = await within(REQUEST_MS, "the scheduled handler", fired);
        return /** @type {string} */ (outcome);
      },

      async stop() {
        await within(STOP_MS, "workerd to stop", miniflare.dispose());
      },
    };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}

/**
 * Starts the worker in a process group of its own. Nothing that leaves it is answered for: its
 * network is the machine's.
 *
 * @param {Options & {state: string}} options
 */
export async function startProcess(options) {
  const server = serve(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)]);
  const lines = createInterface({ input: server.child.stdout });
  let errors = "";
  server.child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const first = new Promise((resolve, reject) => {
    lines.once("line", resolve);
    void server.ended.then(() => reject(new Error(`the worker's process has ended:\n${errors}`)));
  });
  try {
    const { urls } = JSON.parse(await within(START_MS, "the worker's process", first));
    const copies = urls.map(clientOf);
    return {
      .../** @type {Client} */ (copies[0]),
      copies,
      /** Ends it in good order. */
      stop: () => server.stop(STOP_MS),
      /** SIGKILL to Node and to workerd. */
      kill: () => server.kill(),
    };
  } catch (error) {
    await server.kill();
    throw error;
  }
}

/** @typedef {ReturnType<typeof clientOf>} Client */

/**
 * Talks to one copy of the worker over HTTP.
 *
 * @param {string} url its origin
 */
function clientOf(url) {
  /**
   * `fetch` with the admin token (`token: null`: with none) and a limit in time that covers the
   * body, too.
   *
   * @param {string} place path and query
   * @param {Init} [init]
   */
  async function request(place, { token = ADMIN_TOKEN, timeoutMs = REQUEST_MS, ...init } = {}) {
    const headers = new Headers(init.headers);
    if (token !== null && !headers.has("authorization")) {
      headers.set("authorization", `Bearer ${token}`);
    }
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([limit, init.signal]) : limit;
    return fetch(new URL(place, url), { redirect: "manual", ...init, headers, signal });
  }

  /**
   * Sends a value as JSON, or asks with GET when there is none.
   *
   * @param {string} place
   * @param {unknown} [body]
   * @param {Init} [init]
   * @returns {Promise<{status: number, headers: Headers, body: any}>}
   */
  async function json(place, body, init = {}) {
    const headers = new Headers(init.headers);
    if (body !== undefined && !headers.has("content-type")) {
      headers.set("content-type", "application/json");
    }
    const answer = await request(place, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      ...init,
      headers,
    });
    const text = await answer.text();
    try {
      return { status: answer.status, headers: answer.headers, body: JSON.parse(text) };
    } catch {
      throw new Error(`${place} answered ${answer.status} and no JSON: ${text.slice(0, 500)}`);
    }
  }

  return {
    url,
    fetch: request,
    json,

    /**
     * Runs a program and gives the finished run.
     *
     * @param {string | Record<string, unknown>} program its code, or the whole body
     * @param {Init} [init]
     * @returns {Promise<any>}
     */
    async execute(program, init) {
      const body = typeof program === "string" ? { code: program } : program;
      const answer = await json("/v1/runs", body, init);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
  };
}

/** @param {number} copy from 1 */
const copyName = (copy) => (copy === 1 ? "holdfast" : `holdfast-${copy}`);

/** @param {number} [copies] */
const copyNames = (copies = 1) => Array.from({ length: copies }, (_, index) => copyName(index + 1));

/**
 * What Miniflare is constructed with.
 *
 * @param {Options} options
 */
async function miniflareOptions(options) {
  const { vars = {}, state, port, copies, copyVars = [], main, neighbours = [] } = options;
  const stale = staleness();
  if (stale !== undefined) throw new Error(stale);
  const config = /** @type {any} */ (
    parse(fs.readFileSync(path.join(ROOT, "wrangler.toml"), "utf8"))
  );
  const modules = await modulesOf(main ?? config.main);
  const workflows = config.workflows ?? [];
  return {
    host: "127.0.0.1",
    cf: false, // else it is fetched
    log: new Log(LogLevel.NONE),
    telemetry: { enabled: false },
    enableDevRegistry: false, // neighbours that run the same worker are not to be found
    ...(state === undefined
      ? {}
      : { resourcePersistencePath: path.join(path.resolve(state), "v3") }),
    workers: [
      ...copyNames(copies).map((name, index) => worker(name, index)),
      ...(await Promise.all(neighbours.map(neighbour))),
    ],
  };

  /**
   * @param {string} name
   * @param {number} index
   */
  function worker(name, index) {
    return {
      config: {
        name,
        compatibilityDate: config.compatibility_date,
        ...(config.compatibility_flags ? { compatibilityFlags: config.compatibility_flags } : {}),
        manifest: { mainModule: "entry.js", modules },
        env: {
          ...entries(
            { ...config.vars, ...DEVELOPMENT, ...SECRETS, ...vars, ...copyVars[index] },
            (value) => ({
              type: "text",
              value: String(value),
            }),
          ),
          ...bindings(config.d1_databases, ({ database_id }) => ({
            type: "d1",
            name: database_id,
            id: database_id,
          })),
          ...bindings(config.worker_loaders, () => ({ type: "worker-loader" })),
          // One worker runs the instances, whichever copy makes them.
          ...bindings(workflows, (workflow) => ({
            type: "workflow",
            name: workflow.name,
            worker: copyName(1),
            exportName: workflow.class_name,
          })),
          ...Object.fromEntries(
            neighbours.flatMap((one) =>
              one.binding ? [[one.binding, { type: "worker", worker: one.name }]] : [],
            ),
          ),
        },
      },
      dev: {
        unsafeDirectSockets: [{ host: "127.0.0.1", port: index === 0 ? (port ?? 0) : 0 }],
      },
    };
  }

  /** @param {Neighbour} one */
  async function neighbour(one) {
    return {
      config: {
        name: one.name,
        compatibilityDate: config.compatibility_date,
        ...(one.flags ? { compatibilityFlags: one.flags } : {}),
        manifest: { mainModule: "entry.js", modules: await modulesOf(one.main) },
        env: {
          ...entries(one.loader ? { LOADER: null } : {}, () => ({ type: "worker-loader" })),
          ...entries(one.database ? { DB: one.name } : {}, (id) => ({ type: "d1", name: id, id })),
          ...entries(one.services ?? {}, (worker) => ({ type: "worker", worker })),
        },
      },
      dev: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] },
    };
  }
}

/**
 * @template V
 * @param {Record<string, V>} record
 * @param {(value: V) => any} make
 * @returns {Record<string, any>}
 */
const entries = (record, make) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));

/**
 * @param {any[] | undefined} list bindings of one kind, as wrangler.toml has them
 * @param {(one: any) => any} make
 * @returns {Record<string, any>}
 */
const bindings = (list = [], make) =>
  Object.fromEntries(list.map((one) => [one.binding, make(one)]));

/**
 * The worker's modules: its JavaScript in one piece, as wrangler makes it, and the Wasm.
 *
 * @param {string} main
 * @returns {Promise<Record<string, any>>}
 */
async function modulesOf(main) {
  /** @type {Record<string, any>} */
  const modules = {};
  const made = await bundle({
    absWorkingDir: ROOT,
    bundle: true,
    conditions: ["workerd", "worker", "browser"],
    entryPoints: [main],
    external: ["cloudflare:*", "node:*"],
    format: "esm",
    logLevel: "silent",
    plugins: [
      {
        name: "wasm",
        setup(esbuild) {
          esbuild.onResolve({ filter: /\.wasm$/ }, ({ path: place, resolveDir }) => {
            const file = path.resolve(resolveDir, place);
            const name = path.basename(file);
            modules[name] = { type: "wasm", contents: new Uint8Array(fs.readFileSync(file)) };
            return { path: `./${name}`, external: true };
          });
        },
      },
    ],
    target: "es2024",
    write: false,
  });
  modules["entry.js"] = { type: "esm", contents: made.outputFiles[0]?.text };
  return modules;
}

/**
 * Applies the migrations that the database has not seen, with wrangler's own bookkeeping, so that
 * both can work on one state.
 *
 * @param {any} database
 */
async function migrate(database) {
  const folder = path.join(ROOT, "migrations");
  const files = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith(".sql"))
    : [];
  await database
    .prepare(
      "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, " +
        "name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)",
    )
    .run();
  const { results } = await database.prepare("SELECT name FROM d1_migrations").all();
  const seen = new Set(results.map((/** @type {any} */ row) => row.name));
  for (const name of files.sort()) {
    if (seen.has(name)) continue;
    const sql = statements(fs.readFileSync(path.join(folder, name), "utf8"));
    await database.batch([
      ...sql.map((statement) => database.prepare(statement)),
      database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name),
    ]);
  }
}

/**
 * @template T
 * @param {number} ms
 * @param {string} what
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function within(ms, what, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Asks again until the answer is something, or fails after `timeoutMs`.
 *
 * @template T
 * @param {string} what
 * @param {() => Promise<T | undefined | null | false>} ask
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
export async function until(what, ask, timeoutMs = 10_000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await sleep(25);
  }
}

// The process of `startProcess`.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const worker = await start({ outbound: "network", ...JSON.parse(process.argv[2] ?? "{}") });
  console.log(JSON.stringify({ urls: worker.copies.map(({ url }) => url) }));
  process.once("SIGTERM", () => {
    void worker.stop().then(() => process.exit(0));
  });
}
