// Runs cases against a sandbox. Any sandbox: what it has to offer is the type `Sandbox`.
//
// Cases run side by side where that does not change what they measure: those that watch time first,
// two at once, for a sandbox that is being made takes the thread from the others; then those that
// compute, as many as there are permits; then, one by one, those that hold the thread, fill the line
// or are cancelled.
import { judge, judgeCalls } from "./judge.mjs";

/** @typedef {import("./case.mjs").Case} Case */
/** @typedef {import("./judge.mjs").Ended} Ended */

/**
 * @typedef {object} Order A run to make.
 * @property {string} code
 * @property {unknown} [params]
 * @property {NonNullable<Case["tools"]>} tools
 * @property {number} budgetMs
 * @property {Record<string, number>} limits those of the profile that are not the sandbox's own
 * @property {AbortSignal} [signal] cancels the run; its end is told all the same
 */

/**
 * @typedef {object} Started A run on its way.
 * @property {Promise<Ended>} ended
 * @property {() => Promise<Record<string, number>>} calls how often each tool was called so far
 */

/**
 * @typedef {object} Sandbox
 * @property {ReadonlySet<string>} has what a case may need of it: `preempt`, `memory`
 * @property {number} permits runs at once
 * @property {number} line runs that wait
 * @property {() => Promise<number>} waiting how many runs are in line
 * @property {(order: Order) => Promise<Started>} start
 */

/**
 * @typedef {object} Verdict
 * @property {string} name
 * @property {"passed" | "failed" | "skipped"} result
 * @property {string[]} reasons why it failed or was skipped
 * @property {number} ms
 */

const BUDGET_MS = 5_000;

/** Cases at once that watch time. */
const TIMED_LANES = 2;

/** When calls are counted, after the outcome. */
const SETTLED_MS = 500;

/** What a run may take beyond ten budgets. */
const HUNG_MS = 3_000;

/**
 * How long the runs of `occupied` hold their permits: the second that the contract asks for, and time
 * for a busy machine to fill the line and to ask.
 */
const HOLD_MS = 3_000;

const ALIVE = { name: "(the next run)", code: 'return "alive"' };

/**
 * Runs the cases of one file, and after them a run that shows that none has poisoned it.
 *
 * @param {Sandbox} sandbox
 * @param {Case[]} cases
 * @returns {Promise<Verdict[]>} in the order of the cases; the next run last
 */
export async function runCases(sandbox, cases) {
  /** @type {Map<Case, Verdict>} */
  const verdicts = new Map();
  /** @param {Case} one */
  const verdictOf = async (one) => {
    const began = Date.now();
    const reasons = await complaints(sandbox, one).catch((error) => [
      String(error?.stack ?? error),
    ]);
    const result = reasons.length > 0 ? "failed" : "passed";
    verdicts.set(one, { name: one.name, result, reasons, ms: Date.now() - began });
  };
  const [timed, computing, alone] = /** @type {[Case[], Case[], Case[]]} */ ([[], [], []]);
  for (const one of cases) {
    const lacking = (one.needs ?? []).filter((need) => !sandbox.has.has(need));
    if (lacking.length > 0) {
      const reasons = [`the sandbox lacks ${lacking.join(", ")}`];
      verdicts.set(one, { name: one.name, result: "skipped", reasons, ms: 0 });
    } else if (one.needs || one.parallel || one.occupied || one.cancelAfterMs) {
      alone.push(one);
    } else if (one.budgetMs || Object.values(one.tools ?? {}).some((tool) => tool.delayMs)) {
      timed.push(one);
    } else {
      computing.push(one);
    }
  }
  await inLanes(TIMED_LANES, timed, verdictOf);
  await inLanes(sandbox.permits, computing, verdictOf);
  await inLanes(1, alone, verdictOf);
  const last = /** @type {Case} */ ({
    ...ALIVE,
    expect: { outcome: "completed", value: "alive" },
  });
  await verdictOf(last);
  return [...cases, last].map((one) => /** @type {Verdict} */ (verdicts.get(one)));
}

/**
 * @template T
 * @param {number} lanes
 * @param {T[]} list
 * @param {(one: T) => Promise<void>} work
 */
async function inLanes(lanes, list, work) {
  const left = [...list];
  const lane = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/**
 * @param {Sandbox} sandbox
 * @param {Case} one
 * @returns {Promise<string[]>}
 */
async function complaints(sandbox, one) {
  const release = one.occupied ? await occupy(sandbox) : undefined;
  const found = [];
  for (let time = 0; time < (one.repeat ?? 1) && found.length === 0; time++) {
    const runs = Array.from({ length: one.parallel ?? 1 }, () => complaintsOfOne(sandbox, one));
    found.push(...(await Promise.all(runs)).flat());
  }
  found.push(...((await release?.()) ?? []));
  return [...new Set(found)];
}

/**
 * @param {Sandbox} sandbox
 * @param {Case} one
 * @returns {Promise<string[]>}
 */
async function complaintsOfOne(sandbox, one) {
  const order = orderOf(one);
  const cancel = new AbortController();
  const run = await sandbox.start({
    ...order,
    ...(one.cancelAfterMs === undefined ? {} : { signal: cancel.signal }),
  });
  if (one.cancelAfterMs !== undefined) setTimeout(() => cancel.abort(), one.cancelAfterMs);
  const ended = await within(10 * order.budgetMs + HUNG_MS, run.ended);
  if (ended === undefined) return [`it had not ended after ${10 * order.budgetMs + HUNG_MS} ms`];
  const found = judge(one.expect, ended);
  if (one.expect.calls) {
    await sleep(SETTLED_MS);
    found.push(...judgeCalls(one.expect.calls, await run.calls()));
  }
  return found;
}

/**
 * @param {Pick<Case, "code" | "params" | "tools" | "budgetMs">} one
 * @returns {Order}
 */
function orderOf({ code, params, tools = {}, budgetMs = BUDGET_MS }) {
  return {
    code,
    ...(params === undefined ? {} : { params }),
    tools,
    budgetMs,
    limits: {
      dispatches: 50,
      inFlight: 8,
      dispatchMs: 5 * budgetMs,
      ceilingMs: 10 * budgetMs,
    },
  };
}

/**
 * Takes every permit, with runs that hold it for a while, and then the whole line.
 *
 * @param {Sandbox} sandbox
 * @returns {Promise<() => Promise<string[]>>} waits for their end; what was wrong with it
 */
async function occupy(sandbox) {
  /** @param {number} count @param {number} delayMs */
  const start = (count, delayMs) => {
    const tools = { hold: { returns: "held", delayMs } };
    const order = orderOf({ code: "return await tools.hold({});", tools });
    return Promise.all(Array.from({ length: count }, () => sandbox.start(order)));
  };
  const holders = await start(sandbox.permits, HOLD_MS);
  await patiently(async () => {
    const calls = await Promise.all(holders.map((run) => run.calls()));
    return calls.every(({ hold }) => hold);
  });
  const waiters = await start(sandbox.line, 0);
  const ends = Promise.all([...holders, ...waiters].map(({ ended }) => ended));
  await patiently(async () => (await sandbox.waiting()) >= sandbox.line);
  return async () => {
    const ended = await ends;
    return ended
      .flatMap((one) => judge({ outcome: "completed", value: "held" }, one))
      .map((complaint) => `a run that held a permit: ${complaint}`);
  };
}

/**
 * Waits for what should come true soon. If it does not, the case itself will say so.
 *
 * @param {() => Promise<boolean>} come
 */
async function patiently(come) {
  const limit = Date.now() + HUNG_MS;
  while (!(await come()) && Date.now() < limit) await sleep(10);
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>}
 */
async function within(ms, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<undefined>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
