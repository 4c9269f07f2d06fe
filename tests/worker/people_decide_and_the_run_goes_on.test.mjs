// Rule: a call that a person must decide parks the run and costs nothing meanwhile. Whatever is decided,
// and whatever died in between, the run goes on where it was: what it did is not done again, what it
// logged is not logged again, and the outcome is that of a run which nobody had to allow.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { sleep, start, startProcess } from "./harness.mjs";
import { principal } from "./people.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

/** @param {any} run */
const texts = (run) => run.logs.map((/** @type {any} */ line) => line.text);

test("an allowed call goes on in the same place, and nothing is done twice", async () => {
  const p = await principal(w);
  const run = await p.run(`
    const draw = Math.random();
    const began = Date.now();
    await tools.storage.set({ key: "count", value: ((await tools.storage.get({ key: "count" })).value ?? 0) + 1 });
    console.log("before", draw);
    await sleep(20);
    const made = await tools.storage.set({ key: "gated", value: { password: "p", to: draw } });
    console.log("after", draw);
    const count = (await tools.storage.get({ key: "count" })).value;
    return { draw, count, stored: (await tools.storage.get({ key: "gated" })).value.to };
  `);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  assert.equal(run.outcome, null);
  assert.equal(run.approvals.length, 1);
  const [{ id, approveUrl, expiresAt }] = run.approvals;
  assert.equal(approveUrl, `${w.url}/approvals/${id}`);
  assert.ok(expiresAt > run.createdAt);
  assert.equal(texts(run).length, 1);

  const looked = await w.json(`/v1/runs/${run.id}`, undefined, { token: p.agent });
  assert.equal(looked.body.status, "waiting_approval");
  assert.deepEqual(looked.body.approvals, run.approvals);

  const shown = (await w.json(`/v1/approvals/${id}`, undefined, { token: p.person })).body;
  assert.equal(shown.tool, "storage.set");
  assert.equal(shown.arguments.value.password, "[redacted]");
  assert.match(shown.code, /Math\.random/);
  assert.equal(shown.rule.scope, "own");
  assert.equal(shown.rule.rule.note, "somebody looks");
  assert.deepEqual(
    shown.done.map((/** @type {any} */ call) => call.tool),
    ["storage.get", "storage.set"],
  );

  const decided = await p.decide(id, "allow", "fine");
  assert.equal(decided.status, 200, JSON.stringify(decided.body));
  const ended = await p.resume(run.id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.equal(ended.result.count, 1);
  assert.equal(ended.result.stored, ended.result.draw);
  assert.deepEqual(texts(ended), [`before ${ended.result.draw}`, `after ${ended.result.draw}`]);
  const [row] = await w.d1("SELECT fence, status FROM runs WHERE id = ?", run.id);
  assert.deepEqual(row, { fence: 2, status: "completed" });
  assert.deepEqual(await w.d1("SELECT * FROM journal WHERE run_id = ?", run.id), []);
});

test("who may execute may not approve, nor may the admin token or another principal", async () => {
  const p = await principal(w);
  const other = await principal(w);
  const run = await p.run(`return await tools.storage.delete({ key: "a" })`);
  const [{ id }] = run.approvals;
  for (const token of [p.agent, undefined]) {
    const init = token === undefined ? {} : { token };
    const answer = await w.json(`/v1/approvals/${id}`, { decision: "allow" }, init);
    assert.equal(answer.status, 403, JSON.stringify(answer.body));
  }
  assert.equal((await other.decide(id, "allow")).status, 404);
  assert.deepEqual(await other.approvals(), []);
  assert.equal((await p.approvals()).length, 1);
});

test("a declined call is an error with its reason; the first decision stands", async () => {
  const p = await principal(w);
  const run = await p.run(`
    try { await tools.storage.delete({ key: "a" }); return "made"; }
    catch (error) { return { code: error.code, text: error.message }; }
  `);
  const [{ id }] = run.approvals;
  assert.equal((await p.decide(id, "decline", "not this one")).status, 200);
  assert.equal((await p.decide(id, "decline")).status, 200, "the same again is no fault");
  const second = await p.decide(id, "allow");
  assert.equal(second.status, 409);
  assert.equal(second.body.error.approval.state, "declined");
  const ended = await p.resume(run.id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.equal(ended.result.code, "HF_E1402");
  assert.match(ended.result.text, /not this one/);
});

test("a window that passes is expired, never declined", async () => {
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask", windowMs: 300 }]);
  const run = await p.run(`await tools.storage.delete({ key: "a" })`);
  await sleep(400);
  await w.scheduled();
  const ended = await p.resume(run.id);
  assert.equal(ended.status, "failed", JSON.stringify(ended));
  assert.equal(ended.errorDetails.kind, "approval_expired");
  assert.match(ended.error, /expired after 300ms/);
});

test("parallel calls are each decided alone", async () => {
  const p = await principal(w);
  const run = await p.run(`
    const ended = await Promise.allSettled(["a", "b", "c"].map((key) => tools.storage.delete({ key })));
    return ended.map((one) => one.status);
  `);
  assert.equal(run.approvals.length, 3);
  const [a, b, c] = run.approvals;
  await p.decide(b.id, "decline");
  const parked = await p.resume(run.id, 3);
  assert.equal(parked.status, "waiting_approval", JSON.stringify(parked));
  assert.deepEqual(
    parked.approvals.map((/** @type {any} */ one) => one.id),
    [a.id, c.id],
  );
  await Promise.all([p.decide(a.id, "allow"), p.decide(c.id, "allow")]);
  const ended = await p.resume(run.id);
  assert.deepEqual(ended.result, ["fulfilled", "rejected", "fulfilled"], JSON.stringify(ended));
});

test("allowed for the rest of the run, the tool is not asked about again", async () => {
  const p = await principal(w);
  const run = await p.run(`
    for (const key of ["a", "b", "c"]) await tools.storage.delete({ key });
    return "done";
  `);
  await p.decide(run.approvals[0].id, "allow_run");
  const ended = await p.resume(run.id);
  assert.equal(ended.result, "done", JSON.stringify(ended));
  assert.equal((await p.approvals("allowed")).length, 1);
});

test("a held run keeps its live sandbox, and the wait does not count", async () => {
  const p = await principal(w);
  const answer = p.run(
    { code: `await tools.storage.delete({ key: "a" }); return "live"`, budgetMs: 500 },
    "?hold=20",
  );
  let open = [];
  for (let i = 0; i < 50 && open.length === 0; i++) {
    await sleep(100);
    open = await p.approvals();
  }
  await sleep(1200);
  await p.decide(open[0].id, "allow");
  const ended = await answer;
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.equal(ended.result, "live");
  const [row] = await w.d1("SELECT fence FROM runs WHERE id = ?", ended.id);
  assert.equal(row.fence, 1, "no second attempt was made");
});

test("a cancelled run drops its questions, and a late decision is told the outcome", async () => {
  const p = await principal(w);
  const run = await p.run(`await tools.storage.delete({ key: "a" })`);
  const cancelled = await w.json(`/v1/runs/${run.id}/cancel`, {}, { token: p.agent });
  assert.equal(cancelled.body.status, "cancelled", JSON.stringify(cancelled.body));
  const late = await p.decide(run.approvals[0].id, "allow");
  assert.equal(late.status, 409);
  assert.equal(late.body.error.approval.state, "dropped");
  assert.deepEqual(late.body.error.run, cancelled.body);
  assert.deepEqual(await p.resume(run.id, 1), cancelled.body);
});

test("a blocked call is refused with its rule, and a dry run says so before", async () => {
  const p = await principal(w);
  const run = await p.run(`await tools.storage.set({ key: "never", value: 1 })`);
  assert.equal(run.errorDetails.kind, "policy_blocked", JSON.stringify(run));
  const trial = { tool: "storage.set", arguments: { key: "never" } };
  const dry = await w.json("/v1/policies/test", trial, { token: p.rules });
  assert.equal(dry.body.action, "block");
  assert.equal(dry.body.rule.index, 2);
  const own = { scope: "all", rules: [] };
  const refused = await w.json("/v1/policies", own, { method: "PUT", token: p.rules });
  assert.equal(refused.status, 403);
});

test("a parked run goes on in another process after kill -9", { timeout: 120_000 }, async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const first = await startProcess({ state });
  const p = await principal(first);
  const run = await p.run(`
    const out = [];
    for (const key of ["a", "b"]) {
      await tools.storage.set({ key: "n" + key, value: out.length });
      console.log("did", key);
      out.push(typeof (await tools.storage.delete({ key: "n" + key })));
    }
    return out.length;
  `);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  await first.kill();

  const second = await start({ state });
  t.after(() => second.stop());
  /** @param {string} id @param {string} decision */
  const decide = (id, decision) =>
    second.json(`/v1/approvals/${id}`, { decision }, { token: p.person });
  const resume = async () =>
    (
      await second.json(`/v1/runs/${run.id}/resume?wait=5`, undefined, {
        method: "POST",
        token: p.agent,
      })
    ).body;
  await decide(run.approvals[0].id, "allow");
  let waiting = await resume();
  for (let i = 0; i < 5 && waiting.approvals?.[0]?.id === run.approvals[0].id; i++) {
    waiting = await resume();
  }
  assert.equal(waiting.status, "waiting_approval", JSON.stringify(waiting));
  assert.deepEqual(texts(waiting), ["did a", "did b"]);
  await decide(waiting.approvals[0].id, "allow");
  const ended = await resume();
  assert.equal(ended.result, 2, JSON.stringify(ended));
  assert.deepEqual(texts(ended), ["did a", "did b"]);
  const calls = await second.d1("SELECT n, path FROM dispatches WHERE run_id = ?", run.id);
  assert.equal(calls.length, 4);
});
