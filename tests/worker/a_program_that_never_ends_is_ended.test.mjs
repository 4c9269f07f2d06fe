// Rule: whatever a program does to go on for ever, and whatever it does to the clocks of its own
// realm first, its run ends typed within a second of its budget, and the next run works.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

const BUDGET_MS = 400;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

const ENDLESS = {
  "a loop without an await": "while (true) {}",
  "a loop in a function that a timer calls": `
    setTimeout(() => { for (;;) {} }, 10);
    await new Promise((done) => setTimeout(done, 60_000));`,
  "an endless await of null": "for (;;) await null;",
  "recursion through promises": "const again = () => Promise.resolve().then(again); await again();",
  "recursion through async functions":
    "const again = async () => { await null; return again(); }; await again();",
  "a microtask that queues itself": `
    const again = () => queueMicrotask(again);
    again();
    await new Promise((done) => setTimeout(done, 60_000));`,
  "a replaced setTimeout and a loop": "globalThis.setTimeout = () => 0; while (true) {}",
  "a replaced setTimeout and a real timer": `
    const real = setTimeout;
    globalThis.setTimeout = () => 0;
    await new Promise((done) => real(done, 60_000));`,
  "replaced clocks and endless microtasks": `
    globalThis.setTimeout = () => 0;
    Date.now = () => 0;
    globalThis.performance = { now: () => 0 };
    for (;;) await null;`,
  "a loop that catches whatever is thrown":
    "for (;;) { try { for (;;) {} } catch {} finally { continue; } }",
  "a loop after the end of another": "try { for (;;) {} } catch { } for (;;) {}",
  "a regular expression that backtracks for ever in a loop":
    'for (;;) /^(a+)+$/.test("aaaaaaaaaaaaaaaa!");',
  "a getter that never returns, read by the codec": "return { get x() { for (;;) {} } };",
  "a toJSON that never returns, in a line of the log": "console.log({ toJSON() { for (;;) {} } });",
  "an iterator without an end": `
    const endless = { *[Symbol.iterator]() { for (;;) yield 1; } };
    for (const one of endless) one;`,
  "a spread without an end":
    "const endless = { *[Symbol.iterator]() { for (;;) yield; } }; Math.max(...endless);",
};

for (const [name, code] of Object.entries(ENDLESS)) {
  test(`${name} is timed out, and the next run works`, async () => {
    const run = await w.execute({ code, budgetMs: BUDGET_MS });
    assert.equal(run.status, "failed", JSON.stringify(run));
    assert.equal(run.errorDetails.kind, "timed_out", run.error);
    assert.match(run.error, /^Execution timed out after 400ms: /);
    const { computeMs } = run.timing;
    assert.ok(computeMs <= BUDGET_MS + 1_000, `it was ended after ${computeMs} ms`);
    assert.equal((await w.execute('return "alive"')).result, "alive");
  });
}

test("a replaced setTimeout and a promise that nothing settles is a deadlock", async () => {
  const code = "globalThis.setTimeout = () => 0; await new Promise(() => {});";
  const run = await w.execute({ code, budgetMs: BUDGET_MS });
  assert.equal(run.errorDetails.kind, "deadlocked", run.error);
  assert.equal((await w.execute('return "alive"')).result, "alive");
});

test("an endless loop beside other runs delays them and fails none", async () => {
  const others = Array.from({ length: 4 }, (_, index) =>
    w.execute(`await new Promise((done) => setTimeout(done, 50)); return ${index};`),
  );
  const endless = w.execute({ code: "while (true) {}", budgetMs: BUDGET_MS });
  const results = (await Promise.all(others)).map(({ result }) => result);
  assert.deepEqual(results, [0, 1, 2, 3]);
  assert.equal((await endless).errorDetails.kind, "timed_out");
});
