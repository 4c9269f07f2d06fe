// The worker as a sandbox of the cases: over HTTP, with the tools of a Worker beside it.
import { sleep, start } from "../harness.mjs";

/** @typedef {import("./runner.mjs").Sandbox} Sandbox */
/** @typedef {import("./runner.mjs").Order} Order */
/** @typedef {import("./judge.mjs").Ended} Ended */

const PERMITS = 4;
const LINE = 8;

/** The most that a request may name (src/run/limits.rs): limits are lowered, never raised. */
const MAX_DISPATCH_MS = 60_000;

/** No run is waited for longer; the runner has given up before. */
const REQUEST_MS = 300_000;

/** From a hang-up to the stored outcome. */
const CANCELLED_MS = 5_000;

/**
 * @typedef {object} Options
 * @property {string} [main] the worker's main module, where it is not the one that ships
 * @property {Record<string, string>} [vars]
 * @property {"hang-up" | "request"} [cancelBy] how a run is cancelled: its caller goes, or asks
 */

/**
 * Starts the worker with the profile of the cases.
 *
 * @param {Options} [options]
 */
export async function overHttp({ main, vars = {}, cancelBy = "hang-up" } = {}) {
  const w = await start({
    ...(main === undefined ? {} : { main }),
    vars: {
      HOLDFAST_PERMITS: String(PERMITS),
      HOLDFAST_PERMITS_PRINCIPAL: String(PERMITS),
      HOLDFAST_LINE: String(LINE),
      HOLDFAST_TOOLS_SERVICE: "TOOLS",
      ...vars,
    },
    neighbours: [{ name: "tools", main: "tests/worker/support/tools.js", binding: "TOOLS" }],
  });
  const tools = w.neighbours.tools;
  let count = 0;

  /** @type {Sandbox & {worker: typeof w, stop: () => Promise<void>}} */
  const sandbox = {
    // Local workerd bounds no memory; the guard ends what does not yield.
    has: new Set(["preempt"]),
    permits: PERMITS,
    line: LINE,
    waiting: async () => (await w.d1("SELECT count(*) AS runs FROM line"))[0].runs,
    async start(order) {
      const label = `case-${(count += 1)}`;
      const put = await fetch(`${tools}/tools/${label}`, {
        method: "PUT",
        body: JSON.stringify(order.tools),
      });
      await put.arrayBuffer();
      return {
        ended: ended(order, label),
        calls: async () => (await fetch(`${tools}/calls/${label}`)).json(),
      };
    },
    worker: w,
    stop: () => w.stop(),
  };
  return sandbox;

  /**
   * @param {Order} order
   * @param {string} label
   * @returns {Promise<Ended>}
   */
  async function ended({ code, params, budgetMs, limits, signal }, label) {
    const { dispatchMs = MAX_DISPATCH_MS, ...others } = limits;
    const body = {
      code,
      params,
      budgetMs,
      label,
      limits: { ...others, dispatchMs: Math.min(dispatchMs, MAX_DISPATCH_MS) },
    };
    const hangUp = signal && cancelBy === "hang-up" ? { signal } : {};
    const answered = w.json("/v1/runs", body, { timeoutMs: REQUEST_MS, ...hangUp });
    if (signal && cancelBy === "request") {
      signal.addEventListener("abort", () => void cancel(label));
    }
    try {
      return endOf((await answered).body);
    } catch (error) {
      if (!signal?.aborted) throw error;
      return endOf(await cancelled(label));
    }
  }

  /** @param {string} label */
  async function find(label) {
    const { body } = await w.json("/v1/runs?limit=20");
    const found = body.runs.find((/** @type {any} */ run) => run.label === label);
    if (found === undefined) throw new Error(`there is no run ${label}`);
    return found;
  }

  /** @param {string} label */
  async function cancel(label) {
    const { id } = await find(label);
    await w.json(`/v1/runs/${id}/cancel`, {});
  }

  /**
   * The run of a caller who has gone.
   *
   * @param {string} label
   */
  async function cancelled(label) {
    const { id } = await find(label);
    const limit = Date.now() + CANCELLED_MS;
    for (;;) {
      const { body } = await w.json(`/v1/runs/${id}`);
      if (body.outcome !== null || Date.now() > limit) return body;
      await sleep(50);
    }
  }
}

/**
 * @param {any} body a run, or why there is none
 * @returns {Ended}
 */
function endOf(body) {
  if (body.outcome === undefined) {
    const { kind, message } = body.error;
    return { outcome: kind === "cancelled" ? kind : "failed", kind, message, logs: [] };
  }
  return {
    outcome: body.outcome ?? body.status,
    value: body.result,
    kind: body.errorDetails?.kind,
    message: body.error,
    logs: body.logs,
  };
}
