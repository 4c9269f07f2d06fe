// Rule: only the program's own time counts. A call that waits for the host suspends the clock,
// each return grants a fresh budget, and whoever enforces the budget names it in the message.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    vars: { HOLDFAST_HTTP_HOSTS: "slow.example.com" },
    outbound: async (request) => {
      await sleep(Number(new URL(request.url).searchParams.get("ms") ?? 0));
      return new Response("done");
    },
  });
});
after(() => w.stop());

const slow = (/** @type {number} */ ms) =>
  `(await tools.http.fetch({ url: "https://slow.example.com/?ms=${ms}" })).body`;

test("a call that outlasts the budget does not end the run", async () => {
  const run = await w.execute({ code: `return ${slow(2500)}`, budgetMs: 1000 });
  assert.equal(run.status, "completed", JSON.stringify(run));
  assert.equal(run.result, "done");
  assert.ok(run.timing.toolsMs >= 2400, JSON.stringify(run.timing));
});

test("two long calls in a row pass, for budgets reset", async () => {
  const code = `const a = ${slow(1500)}; const b = ${slow(1500)}; return a + b`;
  const run = await w.execute({ code, budgetMs: 1000 });
  assert.equal(run.result, "donedone", JSON.stringify(run));
});

test("own time over the budget ends it at the budget, typed, with its logs", async () => {
  const code = `
    console.log("before");
    const start = Date.now();
    const timer = setInterval(() => console.log("still here"), 500);
    await sleep(5000);
    console.log("after");`;
  const run = await w.execute({ code, budgetMs: 2000 });
  assert.equal(run.status, "failed");
  assert.match(run.error, /^Execution timed out after 2s: /);
  const details = run.errorDetails;
  assert.equal(details.code, "HF_E1302");
  assert.equal(details.kind, "timed_out");
  assert.equal(details.phase, "execute");
  assert.equal(details.timedOutAfterMs, 2000);
  assert.equal(details.suggestedAction, "fix_code");
  assert.equal(details.isTimeout, true);
  assert.match(details.nextStep, /workflows\.create\(\{code, params\}\).*workflow_run_list/s);
  const own = run.timing.computeMs;
  assert.ok(own >= 1700 && own <= 2300, JSON.stringify(run.timing));
  const texts = run.logs.map((/** @type {any} */ line) => line.text);
  assert.equal(texts[0], "before");
  assert.ok(texts.includes("still here") && !texts.includes("after"), texts.join());
});

test("waiting earns no credit", async () => {
  const code = `await tools.http.fetch({ url: "https://slow.example.com/?ms=1500" }); await sleep(9000)`;
  const run = await w.execute({ code, budgetMs: 500 });
  assert.match(run.error, /^Execution timed out after 500ms: /);
});

test("the host keeps the budget of a program that broke its own timers", async () => {
  const code = `
    const real = globalThis.setTimeout;
    globalThis.setTimeout = () => 0;
    for (let i = 0; i < 10000; i++) clearTimeout(i);
    Date.now = () => 0;
    await new Promise((done) => real(done, 20000));`;
  const run = await w.execute({ code, budgetMs: 400 });
  assert.match(run.error, /^Execution timed out after 400ms: /);
});

test("a dispatch has a limit of its own, which the program can catch", async () => {
  const code = `
    try { await tools.http.fetch({ url: "https://slow.example.com/?ms=3000" }); }
    catch (error) { return [error.message, error.tool, error.code]; }`;
  const run = await w.execute({ code, limits: { dispatchMs: 300 } });
  assert.equal(run.status, "completed", JSON.stringify(run));
  assert.match(run.result[0], /^http\.fetch timed out after 300ms/);
  assert.deepEqual(run.result.slice(1), ["http.fetch", "HF_E1603"]);
});

test("the ceiling ends what suspends for ever, and names itself", async () => {
  const code = `for (;;) await tools.http.fetch({ url: "https://slow.example.com/?ms=50" })`;
  const run = await w.execute({ code, limits: { ceilingMs: 700 } });
  assert.match(run.error, /^Execution timed out after 700ms: .*ceiling/);
  assert.equal(run.errorDetails.phase, "ceiling");
});

test("what nothing can settle is a deadlock, told at once", async () => {
  const began = Date.now();
  const run = await w.execute({ code: "await new Promise(() => {})", budgetMs: 20_000 });
  assert.equal(run.errorDetails.kind, "deadlocked", JSON.stringify(run));
  assert.ok(Date.now() - began < 10_000);
});

test("a call after the outcome reaches no tool", async () => {
  const sent = w.sent.length;
  const code = `
    setTimeout(() => tools.http.fetch({ url: "https://slow.example.com/late" }).catch(() => {}), 150);
    return "done"`;
  const run = await w.execute(code);
  assert.equal(run.result, "done");
  await sleep(600);
  assert.equal(w.sent.length, sent);
  assert.deepEqual(await w.d1("SELECT n FROM dispatches WHERE run_id = ?", run.id), []);
});
