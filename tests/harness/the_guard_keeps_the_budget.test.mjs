// Rule: the budget is continuous autonomous compute, to the millisecond; nothing swallows its end.
// The guard alone, with a clock and a loop of its own; then in workerd, in programs that never yield.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createGuard } from "../../src/sandbox/harness/guard.js";
import { asProgram, guarded } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

/** A guard, its time, and the loop of the platform. @param {number} budgetMs */
function watched(budgetMs) {
  const state = { now: 1_000, expired: 0 };
  /** @type {{ at: number, run: () => void }[]} */
  let queue = [];
  const guard = createGuard({
    budgetMs,
    now: () => state.now,
    later: (run, ms) => {
      const entry = { at: state.now + ms, run };
      queue.push(entry);
      return entry;
    },
    cancel: (entry) => {
      queue = queue.filter((other) => other !== entry);
    },
    expired: () => {
      state.expired++;
    },
  });
  /** The loop runs, for so many ms. @param {number} ms */
  const pass = (ms) => {
    const until = state.now + ms;
    for (;;) {
      const next = queue.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      queue = queue.filter((entry) => entry !== next);
      state.now = Math.max(state.now, next.at);
      next.run();
    }
    state.now = until;
  };
  /** A program that computes `ms` without yielding, a thousand ticks a ms. @param {number} ms */
  const compute = (ms) => {
    for (let i = 0; i < ms; i++) {
      state.now++;
      for (let k = 0; k < 1_000; k++) if (--guard.ticks.n < 0) guard.ticks.t();
    }
  };
  return { guard, state, pass, compute, timers: () => queue.length };
}

test("a program that sleeps is ended at its budget, not before", () => {
  const { guard, state, pass } = watched(300);
  guard.start();
  pass(299);
  assert.equal(state.expired, 0);
  pass(1);
  assert.equal(state.expired, 1);
});

test("a program that computes is ended at its budget, within a few milliseconds", () => {
  const { guard, state, compute } = watched(300);
  guard.start();
  compute(299);
  assert.equal(state.expired, 0);
  assert.throws(() => compute(10), /timed out after 300ms/);
  assert.equal(state.expired, 1);
});

test("a dispatch in flight suspends the budget, and each return grants a fresh one", () => {
  const { guard, state, pass } = watched(300);
  guard.start();
  pass(200);
  guard.dispatched();
  pass(5_000);
  assert.equal(state.expired, 0);
  guard.returned();
  pass(299);
  assert.equal(state.expired, 0);
  pass(1);
  assert.equal(state.expired, 1);
});

test("the budget stands until the last of several is back, and does not add up", () => {
  const { guard, state, pass } = watched(300);
  guard.start();
  guard.dispatched();
  guard.dispatched();
  pass(1_000);
  guard.returned();
  pass(1_000);
  assert.equal(state.expired, 0);
  guard.returned();
  pass(299);
  assert.equal(state.expired, 0);
  pass(1);
  assert.equal(state.expired, 1);
});

test("a program that holds the thread while a dispatch is in flight is ended too", () => {
  const { guard, state, pass, compute } = watched(300);
  guard.start();
  guard.dispatched();
  pass(1_000);
  assert.throws(() => compute(310));
  assert.equal(state.expired, 1);
});

test("once spent, every tick throws the same error", () => {
  const { guard, pass } = watched(100);
  guard.start();
  pass(100);
  const thrown = new Set();
  for (let i = 0; i < 5; i++) {
    try {
      if (--guard.ticks.n < 0) guard.ticks.t();
    } catch (error) {
      thrown.add(error);
    }
    try {
      guard.ticks.c(128);
    } catch (error) {
      thrown.add(error);
    }
  }
  assert.deepEqual([...thrown], [guard.failure]);
});

test("an attempt that has ended leaves no timer, and what goes on throws", () => {
  const { guard, state, timers } = watched(100);
  guard.start();
  guard.stop();
  assert.equal(timers(), 0);
  assert.throws(() => guard.ticks.t());
  assert.equal(state.expired, 0);
});

test("looks that come late come more often", () => {
  const { guard, state } = watched(10_000);
  guard.start();
  for (let i = 0; i < 20; i++) guard.ticks.t();
  assert.equal(guard.ticks.n, 1_023);
  state.now += 500;
  guard.ticks.t();
  assert.equal(guard.ticks.n, 255);
});

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

const BUDGET = 250;
const T = "--guard.n<0&&guard.t();";

for (const [name, body] of Object.entries({
  "a loop without end": `for (;;) {${T}}`,
  "a loop that catches": `for (;;) {${T} try { for (;;) {${T}} } catch {${T}} }`,
  "a loop that goes on in finally": `for (;;) {${T} try { for (;;) {${T}} } finally {${T} continue; } }`,
  "microtasks without end": `for (;;) {${T} await null; }`,
  "promises that feed each other": `const f = () => {${T} return Promise.resolve().then(f); }; await f();`,
  "recursion that swallows": `const f = (n) => {${T} try { f(n + 1); } catch {${T}} try { f(n + 1); } catch {${T}} }; f(0);`,
  "a loop after its own stack's end": `Error.prepareStackTrace = () => {${T} for (;;) {${T}} }; for (;;) {${T}}`,
  "a loop with a call in flight": `tools.never({}).catch(() => {}); await sleep(1); for (;;) {${T}}`,
  "a timer that spins": `setInterval(() => {${T} for (;;) {${T}} }, 1); await new Promise(() => {});`,
  "a getter of its result that spins": `return { get x() {${T} for (;;) {${T}} } };`,
  "a toJSON of its argument that spins": `await tools.never({ toJSON() {${T} for (;;) {${T}} } });`,
  "an error's message that spins": `throw { stack: "", get message() {${T} for (;;) {${T}} } };`,
  "a log's argument that spins": `console.log({ get x() {${T} for (;;) {${T}} } }); return 1;`,
  "a chunked loop": `{ let i = 0; let $l; do for ($l = 1024; --$l >= 0 && i < 1e15; i++) {} while ($l < 0 && guard.c(128)); (guard.n -= 1024 - $l >> 3) < 0 && guard.t(); }`,
})) {
  test(`it ends ${name}, and the next run works`, async () => {
    const { end, ms } = await workerd.post("/run", {
      program: asProgram(body),
      tools: { never: { never: true } },
      invocation: { budgetMs: BUDGET },
    });
    const timedOut = end.end === "timed_out" || (end.end === "threw" && end.fault === "timed_out");
    assert.ok(timedOut, JSON.stringify(end));
    assert.ok(ms >= BUDGET && ms < BUDGET + 4_000, `after ${ms} ms`);
    const next = await workerd.post("/run", { program: guarded("return 'alive';") });
    assert.equal(next.end.value, "alive");
  });
}
