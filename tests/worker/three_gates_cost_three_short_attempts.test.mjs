// Rule: a run that people are asked about three times, over two restarts of the process, costs three
// short attempts beside its first, holds no connection meanwhile, and comes to what it comes to when
// nobody has to be asked. Whoever takes it up at the same time: one attempt is made.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { start, startProcess } from "./harness.mjs";
import { principal } from "./people.mjs";

const GATES = ["a", "b", "c"];

const PROGRAM = `
  const out = [];
  for (const key of ${JSON.stringify(GATES)}) {
    const { value = 0 } = await tools.storage.get({ key: "count" });
    await tools.storage.set({ key: "count", value: value + 1 });
    await sleep(5);
    console.log("at", key);
    const { deleted } = await tools.storage.delete({ key });
    out.push({ key, deleted, count: value + 1 });
  }
  return out;
`;

test("three gates, two restarts", { timeout: 240_000 }, async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const first = await startProcess({ state });
  const p = await principal(first, [{ pattern: "storage.delete", action: "ask" }]);
  const free = await principal(first, []);
  const ungated = await free.run(PROGRAM);
  assert.equal(ungated.status, "completed", JSON.stringify(ungated));
  let run = await p.run(PROGRAM);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));

  /** @type {any} */
  let process = first;
  for (const [gate] of GATES.entries()) {
    // The answer of the first request is whole: no connection is held. After the first and the second
    // gate the process dies.
    if (gate > 0) {
      await process.kill();
      process = await startProcess({ state });
    }
    const [{ id }] = run.approvals;
    const decided = await process.json(
      `/v1/approvals/${id}`,
      { decision: "allow" },
      { token: p.person },
    );
    assert.equal(decided.status, 200, JSON.stringify(decided.body));
    const place = `/v1/runs/${run.id}/resume?wait=20`;
    const resumes = await Promise.all(
      Array.from({ length: 3 }, () =>
        process.json(place, undefined, { method: "POST", token: p.agent }),
      ),
    );
    // Whoever looked before the run went on is answered with the next question, or with the end.
    const asked = resumes.map(({ body }) => body);
    const settled = (/** @type {any} */ one) =>
      one.status === "completed" ||
      (one.approvals ?? []).some((/** @type {any} */ a) => a.id !== id);
    run = asked.find(settled) ?? asked[0];
    for (let i = 0; i < 20 && !settled(run); i++) {
      run = (await process.json(place, undefined, { method: "POST", token: p.agent })).body;
    }
    assert.ok(settled(run), JSON.stringify(run));
  }
  assert.equal(run.status, "completed", JSON.stringify(run));
  assert.deepEqual(run.result, ungated.result);
  const texts = (/** @type {any} */ one) => one.logs.map((/** @type {any} */ line) => line.text);
  assert.deepEqual(texts(run), texts(ungated));
  await process.kill();

  const last = await start({ state });
  t.after(() => last.stop());
  const [row] = await last.d1("SELECT fence FROM runs WHERE id = ?", run.id);
  assert.equal(row.fence, 1 + GATES.length, "one attempt a decision");
  const calls = await last.d1("SELECT path FROM dispatches WHERE run_id = ? ORDER BY n", run.id);
  const once = await last.d1("SELECT path FROM dispatches WHERE run_id = ? ORDER BY n", ungated.id);
  assert.deepEqual(calls, once);
  const [count] = await last.d1(
    "SELECT value FROM storage WHERE principal = ? AND key = 'count'",
    p.name,
  );
  assert.equal(count.value, "3", "no effect was made twice");
});

test("two resumes at the same time are one attempt", async (t) => {
  const w = await start({ copies: 2 });
  t.after(() => w.stop());
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask" }]);
  const run = await p.run(`
    await tools.storage.delete({ key: "a" });
    const { value = 0 } = await tools.storage.get({ key: "count" });
    await tools.storage.set({ key: "count", value: value + 1 });
    return Math.random();
  `);
  // Decided behind the worker's back, so that only those who resume take it up.
  await w.d1(
    "UPDATE approvals SET state = 'allowed', decided_by = 't', decided_at = ?1 WHERE id = ?2",
    Date.now(),
    run.approvals[0].id,
  );
  const place = `/v1/runs/${run.id}/resume?wait=20`;
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      w.copies[index % 2]?.json(place, undefined, { method: "POST", token: p.agent }),
    ),
  );
  const bodies = answers.map((answer) => answer?.body);
  assert.ok(
    bodies.every((body) => body.status === "completed" && body.result === bodies[0].result),
    JSON.stringify(bodies),
  );
  const [row] = await w.d1("SELECT fence FROM runs WHERE id = ?", run.id);
  assert.equal(row.fence, 2);
  const [count] = await w.d1("SELECT value FROM storage WHERE principal = ?", p.name);
  assert.equal(count.value, "1");
});
