// The stand-in host in workerd. POST bodies and answers are JSON.
//   /harness  {name: text}   the harness's modules, kept
//   /run      {id?, program, invocation, tools, gated, cancelAfterMs, decide}  one attempt; resumes a known id
//   /decide   {id, n, to}
//   /bare     {program, calls}  the floor: a bare loader, a bare lent function
import { attemptHost, createRun, journalOf } from "./record.mjs";

let harness = {};
const runs = new Map();
const LIMITS = {
  argumentBytes: 1_048_576,
  resultBytes: 1_048_576,
  logBytes: 65_536,
  logLines: 1_000,
  logLineBytes: 8_192,
};
const MAX_ANSWER = 4_194_304;
const MAX_DISPATCHES = 50;
const BENCH_DISPATCHES = 1e9;

const sleep = (/** @type {any} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const load = (/** @type {any} */ env, /** @type {any} */ mainModule, /** @type {any} */ modules) =>
  env.LOADER.load({
    compatibilityDate: "2026-08-01",
    mainModule,
    modules,
    globalOutbound: null,
  }).getEntrypoint();

/** A tool of the cases: `{returns | throws | echo, delayMs?, never?}`. */
function toolOf(/** @type {any} */ tools, /** @type {any} */ budgetMs) {
  let used = 0;
  return async (
    /** @type {any} */ path,
    /** @type {any} */ args,
    /** @type {any} */ _,
    /** @type {any} */ begun,
  ) => {
    const tool = Object.hasOwn(tools, path) ? tools[path] : undefined;
    /** @param {string} kind @param {string} message @param {any} [more] */
    const fail = (kind, message, more) => ({
      error: { name: "Error", message, kind, tool: path, ...more },
    });
    if (tool === undefined) {
      const names = Object.keys(tools).join(", ");
      return fail("tool_not_found", `there is no tool ${path}; there are: ${names}`);
    }
    if (++used > (tools.echo?.bench ? BENCH_DISPATCHES : MAX_DISPATCHES)) {
      return fail("limit_exceeded", `all ${MAX_DISPATCHES} dispatches are used`);
    }
    begun();
    if (tool.never) {
      await sleep(5 * budgetMs);
      return fail("tool_error", `${path} timed out after ${5 * budgetMs}ms`);
    }
    await sleep(tool.delayMs ?? 0);
    if (tool.throws !== undefined) {
      const thrown = typeof tool.throws === "string" ? { message: tool.throws } : tool.throws;
      return fail("tool_error", thrown.message, {
        name: thrown.name ?? "Error",
        ...(thrown.code && { code: thrown.code }),
      });
    }
    const value = tool.echo ? args : tool.returns;
    if (JSON.stringify(value ?? null).length > MAX_ANSWER) {
      return fail("limit_exceeded", `the answer of ${path} is over ${MAX_ANSWER} bytes`);
    }
    return { value: value ?? null };
  };
}

const invocationOf = (/** @type {any} */ { seed }) => ({
  runId: "run",
  surface: "execute",
  params: {},
  budgetMs: 5_000,
  seed,
  export: null,
  limits: LIMITS,
  journal: null,
});

/**
 * @param {any} env @param {any} run @param {any} order
 */
async function attempt(
  /** @type {any} */ env,
  /** @type {any} */ run,
  { program, invocation = {}, tools = {}, gated = [], cancelAfterMs, harness: other },
) {
  const { take, host } = attemptHost(run, {
    tool: toolOf(tools, invocation.budgetMs ?? 5_000),
    asks: (/** @type {any} */ path) => gated.includes(path),
  });
  const full = { ...invocationOf(run), ...invocation, journal: journalOf(run) };
  run.attempts++;
  const sandbox = load(env, "harness.js", { ...(other ?? harness), "program.js": program });
  const t0 = Date.now();
  const over = (full.budgetMs ?? 5_000) * 10;
  let end;
  try {
    end = await Promise.race([
      sandbox.evaluate(JSON.stringify(full), host),
      ...(cancelAfterMs === undefined ? [] : [sleep(cancelAfterMs).then(() => "cancelled")]),
      sleep(over).then(() => "ceiling"),
    ]);
  } catch (thrown) {
    const error = /** @type {any} */ (thrown);
    return {
      end: { end: "platform", name: error?.name, message: String(error?.message ?? error) },
      ms: Date.now() - t0,
    };
  }
  if (end === "cancelled" || end === "ceiling") return { end: { end }, ms: Date.now() - t0 };
  end = JSON.parse(end);
  take(end);
  return { end, ms: Date.now() - t0 };
}

const hex = (/** @type {any} */ bytes) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function answer(/** @type {any} */ request, /** @type {any} */ env) {
  const { pathname } = new URL(request.url);
  const body = await request.json();
  switch (pathname) {
    case "/harness":
      harness = body;
      return {};
    case "/run": {
      const run = runs.get(body.id) ?? {
        ...createRun(),
        startedAt: Date.now(),
        seed: hex(crypto.getRandomValues(new Uint8Array(32))),
      };
      if (body.id !== undefined) runs.set(body.id, run);
      const { end, ms } = await attempt(env, run, body);
      const { events, calls, logs, asked, started, attempts, messages } = run;
      const replies = [...run.replies];
      return {
        end,
        ms,
        events,
        calls,
        logs,
        attempts,
        messages,
        replies,
        asked: [...asked],
        started: Object.fromEntries(started),
      };
    }
    case "/decide":
      runs.get(body.id).decisions.set(body.n, body.to);
      return {};
    case "/bare": {
      const t0 = Date.now();
      const value = await load(env, "bare.js", {
        "bare.js": BARE,
        "program.js": body.program,
      }).evaluate(JSON.stringify(body), async (/** @type {any} */ text) => text);
      return { value, ms: Date.now() - t0 };
    }
    case "/shared": {
      // One isolate, several invocations at once: what a package's isolate does.
      const sandbox = load(env, "harness.js", { ...harness, "program.js": body.program });
      const invoke = async (/** @type {any} */ params) => {
        const run = { ...createRun(), seed: hex(crypto.getRandomValues(new Uint8Array(32))) };
        const { take, host } = attemptHost(run, { tool: toolOf(body.tools ?? {}, 5_000) });
        const invocation = { ...invocationOf(run), ...body.invocation, params };
        const end = JSON.parse(await sandbox.evaluate(JSON.stringify(invocation), host));
        take(end);
        return { end, logs: run.logs, events: run.events, calls: run.calls };
      };
      return { runs: await Promise.all(body.params.map(invoke)) };
    }
    case "/lean": {
      // The harness over the same lent function as the floor has: what the harness costs, without a host.
      const invocation = { ...invocationOf({ seed: "0".repeat(64) }), ...body.invocation };
      const t0 = Date.now();
      const end = await load(env, "harness.js", {
        ...(body.harness ?? harness),
        "program.js": body.program,
      }).evaluate(JSON.stringify(invocation), async () => '{"value":1}');
      return { end: JSON.parse(end), ms: Date.now() - t0 };
    }
    default:
      return { error: `no ${pathname}` };
  }
}

const BARE = `
import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
  async evaluate(text, host) {
    const { params } = JSON.parse(text);
    const call = async (path, args) => JSON.parse(await host(JSON.stringify({ path, args }))).args;
    const { default: program } = await import("program.js");
    return JSON.stringify(await program({ n: 0, t() { this.n = 1e9; }, c() { return true; } }, { params, tools: { echo: (args) => call("echo", args) } })());
  }
}`;

export default {
  async fetch(/** @type {any} */ request, /** @type {any} */ env) {
    try {
      return Response.json(await answer(request, env));
    } catch (error) {
      return Response.json({ error: String(/** @type {any} */ (error)?.stack ?? error) });
    }
  },
};
