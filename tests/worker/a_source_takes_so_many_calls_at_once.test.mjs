// Rule: where a source says how many calls it takes at once, no more are made, whatever the number of runs and of
// isolates; what is over waits, and what a dead isolate had comes back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    copies: 2,
    vars: { HOLDFAST_SERVICES: "BILLING" },
    neighbours: [{ name: "billing", main: "tests/worker/support/billing.js", binding: "BILLING" }],
  });
});
after(() => w.stop());

const put = async (/** @type {object} */ settings) => {
  const body = { kind: "service", binding: "BILLING", ...settings };
  const answer = await w.json("/v1/sources/billing", body, { method: "PUT" });
  assert.equal(answer.body.state, "ready", JSON.stringify(answer.body));
};
const PROGRAM = `return Promise.all([1, 2, 3].map(() => tools.billing.work()))`;

test("calls of several runs in two isolates take turns", async () => {
  await put({ atOnce: 2 });
  const runs = await Promise.all([0, 1, 0, 1].map((copy) => w.copies[copy]?.execute(PROGRAM)));
  const most = runs.flatMap((run) => {
    assert.equal(run.status, "completed", run.error);
    return run.result;
  });
  assert.equal(most.length, 12);
  assert.equal(Math.max(...most), 2, "as many as the source takes");
  assert.deepEqual(await w.d1("SELECT * FROM source_turns"), [], "every turn is given back");
});

test("a call that waits too long for its turn ends at its limit, and leaves the line", async () => {
  await put({ atOnce: 1 });
  const until = Date.now() + 60_000;
  const held = "INSERT INTO source_turns (principal, source, until) VALUES ('admin', 'billing', ?)";
  await w.d1(held, until);
  const code = `try { await tools.billing.work() } catch (error) { return error.code }`;
  const run = await w.execute({ code, limits: { dispatchMs: 900 } });
  assert.equal(run.result, "HF_E1603", JSON.stringify(run));
  const rows = await w.d1("SELECT until FROM source_turns");
  assert.deepEqual(rows, [{ until }]);
});

test("the turn of an isolate that is gone runs out", async () => {
  await w.d1("UPDATE source_turns SET until = ?", Date.now() + 1_000);
  const run = await w.execute(`return tools.billing.work()`);
  assert.equal(run.status, "completed", run.error);
  await w.d1("INSERT INTO source_turns (principal, source, until) VALUES ('admin', 'gone', 1)");
  assert.equal(await w.scheduled(), "ok");
  assert.deepEqual(await w.d1("SELECT * FROM source_turns"), []);
});

test("without the setting as many calls are made as come", async () => {
  await put({});
  const run = await w.execute(PROGRAM);
  assert.ok(Math.max(...run.result) >= 3, run.result);
});
