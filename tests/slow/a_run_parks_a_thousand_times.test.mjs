// Rule: a run may park a thousand times, and is as right at the end as at the beginning: what it did is done
// once, and its journal is read and replayed each time. It takes minutes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { start, until } from "../worker/harness.mjs";
import { principal } from "../worker/people.mjs";

const TIMES = Number(process.env.HOLDFAST_PARKS ?? 1000);

test(`a workflow of ${TIMES} gates`, { timeout: 1_800_000 }, async (t) => {
  const w = await start();
  t.after(() => w.stop());
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask" }]);
  const code = `
    let sum = 0;
    for (let i = 0; i < ${TIMES}; i++) {
      await tools.storage.delete({ key: "k" + i });
      sum += Math.random();
    }
    return sum;`;
  const created = await w.json("/v1/workflows", { code }, { token: p.agent });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { id } = created.body;
  const began = performance.now();
  for (let i = 0; i < TIMES; i++) {
    const open = await until(`gate ${i}`, async () => (await p.approvals())[0], 60_000);
    assert.equal(open.arguments.key, `k${i}`);
    const decided = await p.decide(open.id, "allow");
    assert.equal(decided.status, 200, JSON.stringify(decided.body));
    if ((i + 1) % 100 === 0) {
      t.diagnostic(`${i + 1} gates in ${Math.round((performance.now() - began) / 1000)} s`);
    }
  }
  const run = await until(
    "its end",
    async () => {
      const { body } = await w.json(`/v1/runs/${id}`, undefined, { token: p.agent });
      return body.outcome !== null && body;
    },
    60_000,
  );
  assert.equal(run.status, "completed", JSON.stringify(run));
  const rows = await w.d1("SELECT state FROM dispatches WHERE run_id = ?", id);
  assert.equal(rows.length, TIMES);
  assert.ok(rows.every(({ state }) => state === "returned"));
  const [{ fence }] = await w.d1("SELECT fence FROM runs WHERE id = ?", id);
  assert.ok(fence > TIMES, `${fence} attempts`);
});
