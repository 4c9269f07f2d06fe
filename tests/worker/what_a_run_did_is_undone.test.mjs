// Rule: what a failed or cancelled run did is undone by the compensations that were declared: in
// reverse, each once, only what happened, by a run of its own that is journaled and asked about like any
// other; what became of each step is told.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { principal } from "./people.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    vars: { HOLDFAST_TOOLS_SERVICE: "TOOLS" },
    neighbours: [{ name: "tools", main: "tests/worker/support/tools.js", binding: "TOOLS" }],
  });
});
after(() => w.stop());

const LIST = [
  {
    pattern: "storage.set",
    by: "storage.delete",
    arguments: { key: { from: "/arguments/key" } },
    note: "what was stored is taken away",
  },
  { pattern: "mail.send", by: "mail.recall", arguments: { id: { from: "/result/id" } } },
];

/** @param {unknown[]} [list] @param {unknown[]} [rules] */
async function declaring(list = LIST, rules = []) {
  const p = await principal(w, rules);
  const put = await w.json("/v1/compensations", { list }, { method: "PUT", token: p.rules });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  assert.deepEqual(put.body.own, list);
  return {
    ...p,
    /** @param {string} id */
    look: (id) => w.json(`/v1/runs/${id}/rollback`, undefined, { token: p.agent }),
    /** @param {string} id */
    undo: (id) => w.json(`/v1/runs/${id}/rollback`, undefined, { method: "POST", token: p.agent }),
    stored: async () =>
      (await w.d1("SELECT key FROM storage WHERE principal = ? ORDER BY key", p.name)).map(
        ({ key }) => key,
      ),
  };
}

const SETS = `
  for (const key of ["a", "b"]) await tools.storage.set({ key, value: { key } });
  await tools.storage.get({ key: "a" });
  await tools.storage.set({ key: "", value: 1 }).catch(() => {});
`;

test("a failed run is undone in reverse, once", async () => {
  const p = await declaring();
  const run = await p.run(`${SETS} throw new Error("half way")`);
  assert.equal(run.status, "failed", JSON.stringify(run));
  assert.equal(run.rollbackSteps, 2);
  const plan = (await p.look(run.id)).body;
  assert.deepEqual(
    plan.steps.map((/** @type {any} */ step) => [step.n, step.by, step.arguments, step.state]),
    [
      [1, "storage.delete", { key: "b" }, "offered"],
      [0, "storage.delete", { key: "a" }, "offered"],
    ],
  );
  assert.equal(plan.rollbackRunId, null);
  assert.deepEqual(await p.stored(), ["a", "b"], "a look undoes nothing");

  const answers = await Promise.all([p.undo(run.id), p.undo(run.id)]);
  const undone = answers.find(({ status }) => status === 200)?.body;
  assert.equal(undone.status, "completed", JSON.stringify(answers));
  assert.equal(undone.label, `rollback of ${run.id}`);
  assert.deepEqual([undone.result.undone, undone.result.failed], [2, 0]);
  assert.deepEqual(
    undone.result.steps.map((/** @type {any} */ step) => [step.n, step.state, step.result]),
    [
      [1, "undone", { deleted: true }],
      [0, "undone", { deleted: true }],
    ],
  );
  assert.deepEqual(await p.stored(), []);

  await p.run(`await tools.storage.set({ key: "a", value: "anew" })`);
  const again = await p.undo(run.id);
  assert.deepEqual(again.body, undone, "asked again, it answers the same run");
  assert.deepEqual(await p.stored(), ["a"], "and undoes nothing anew");
  assert.equal((await p.look(run.id)).body.rollbackRunId, undone.id);
});

test("a cancelled run that waited is undone", async () => {
  const p = await declaring(LIST, [{ pattern: "http.fetch", action: "block" }]);
  await w.json(
    "/v1/policies",
    { rules: [{ pattern: "storage.list", action: "ask" }] },
    { method: "PUT", token: p.rules },
  );
  const run = await p.run(`${SETS} await tools.storage.list({}); return "done"`);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  const early = await p.undo(run.id);
  assert.equal(early.status, 409);
  assert.equal(early.body.error.code, "HF_E1209");
  const cancelled = (await w.json(`/v1/runs/${run.id}/cancel`, {}, { token: p.agent })).body;
  assert.equal(cancelled.status, "cancelled");
  assert.equal(cancelled.rollbackSteps, 2, JSON.stringify(cancelled));
  const undone = (await p.undo(run.id)).body;
  assert.equal(undone.result.undone, 2, JSON.stringify(undone));
  assert.deepEqual(await p.stored(), []);
});

test("people are asked about a rollback as about any call", async () => {
  const p = await declaring(LIST, [{ pattern: "storage.delete", action: "ask" }]);
  const run = await p.run(`await tools.storage.set({ key: "a", value: 1 }); throw new Error("no")`);
  const waiting = (await p.undo(run.id)).body;
  assert.equal(waiting.status, "waiting_approval", JSON.stringify(waiting));
  await p.decide(waiting.approvals[0].id, "decline", "keep it");
  const ended = await p.resume(waiting.id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.equal(ended.result.failed, 1);
  assert.equal(ended.result.steps[0].error.code, "HF_E1402");
  assert.match(ended.result.steps[0].error.message, /keep it/);
  assert.deepEqual(await p.stored(), ["a"]);
});

test("a tool of a service binding is undone by another, and one failure keeps no other back", async () => {
  const p = await declaring();
  const label = `undo-${p.name}`;
  const put = await fetch(`${w.neighbours.tools}/tools/${label}`, {
    method: "PUT",
    body: JSON.stringify({ "mail.send": { returns: { id: 7 } } }),
  });
  assert.ok(put.ok);
  const run = await p.run({
    label,
    code: `await tools.storage.set({ key: "a", value: 1 });
           await tools.mail.send({ to: "b" });
           throw new Error("no")`,
  });
  assert.equal(run.rollbackSteps, 2, JSON.stringify(run));
  const undone = (await p.undo(run.id)).body;
  // The Worker of the tests knows tools by the label of the run, and the run that undoes has its own.
  assert.deepEqual(
    undone.result.steps.map((/** @type {any} */ step) => [step.tool, step.by, step.state]),
    [
      ["mail.send", "mail.recall", "failed"],
      ["storage.set", "storage.delete", "undone"],
    ],
    JSON.stringify(undone),
  );
  assert.equal(undone.result.steps[0].error.code, "HF_E1601");
});

test("what is not offered is told apart", async () => {
  const p = await declaring();
  const completed = await p.run(`${SETS} return 1`);
  assert.equal(completed.rollbackSteps, undefined);
  const without = await p.run(`await tools.storage.get({ key: "a" }); throw new Error("no")`);
  assert.equal(without.rollbackSteps, undefined);
  const other = await declaring();
  for (const [answer, status] of /** @type {[any, number][]} */ ([
    [await p.undo(completed.id), 409],
    [await p.undo(without.id), 409],
    [await p.undo("run_none"), 404],
    [await other.undo(without.id), 404],
  ])) {
    assert.equal(answer.status, status, JSON.stringify(answer.body));
  }
  const kept = await w.d1(
    "SELECT run_id FROM journal WHERE run_id IN (?, ?)",
    completed.id,
    without.id,
  );
  assert.deepEqual(kept, [], "only what can be undone is kept");
});

test("what is kept goes when its time is over", async () => {
  const p = await declaring();
  const run = await p.run(`${SETS} throw new Error("no")`);
  await w.d1("UPDATE recordings SET keep_until = 1 WHERE run_id = ?", run.id);
  await w.scheduled();
  assert.deepEqual(await w.d1("SELECT seq FROM journal WHERE run_id = ?", run.id), []);
  assert.deepEqual(await w.d1("SELECT * FROM recordings WHERE run_id = ?", run.id), []);
  const late = await p.undo(run.id);
  assert.equal(late.status, 409);
  assert.match(late.body.error.message, /its time is over/);
});

test("declarations are checked, and those for all are the admin's", async () => {
  const p = await principal(w, []);
  const put = (/** @type {unknown} */ body, token = p.rules) =>
    w.json("/v1/compensations", body, { method: "PUT", token });
  const wrong = await put({ list: [{ pattern: "a", by: "b", arguments: { x: { from: "y" } } }] });
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.error.message, /list\[0\].*from/);
  assert.equal((await put({ scope: "all", list: [] })).status, 403);
  assert.equal((await put({ list: LIST }, p.agent)).status, 403);
  const gone = await w.json("/v1/compensations", undefined, { method: "DELETE", token: p.rules });
  assert.deepEqual(gone.body.own, []);
});

test("a model is told of it, and undoes by run_rollback", async () => {
  const p = await declaring();
  const call = async (/** @type {string} */ name, /** @type {unknown} */ args) => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    };
    const headers = { accept: "application/json", "mcp-protocol-version": "2025-11-25" };
    return (await w.json("/mcp", message, { token: p.agent, headers })).body.result;
  };
  const failed = await call("execute", { code: `${SETS} throw new Error("no")` });
  assert.match(failed.content[0].text, /undone by 2 calls: call run_rollback with runId run_/);
  const undone = await call("run_rollback", { runId: failed.structuredContent.id });
  assert.equal(undone.structuredContent.result.undone, 2, JSON.stringify(undone));
  assert.deepEqual(await p.stored(), []);
});
