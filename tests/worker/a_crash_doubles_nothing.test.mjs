// Rule: workerd may die anywhere between two writes; the same key later gives one truthful answer.
// What is recorded is answered from there, and what may have had its effect is not done again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crash, hit } from "./crash.mjs";
import { sleep } from "./harness.mjs";

test("before anything is written: the key is free", { timeout: 120_000 }, async (t) => {
  const { second, repeat } = await crash(
    t,
    () => ({ code: "return 1" }),
    async () => {},
  );
  const answer = await repeat();
  assert.equal(answer.body.result, 1);
  const [{ n }] = await second.d1("SELECT COUNT(*) AS n FROM runs WHERE status = 'completed'");
  assert.equal(n, 1);
});

test("after the claim, before any effect: it goes on", { timeout: 120_000 }, async (t) => {
  const { second, repeat } = await crash(
    t,
    () => ({
      code: `const drawn = Math.random();
             await tools.storage.get({ key: "a" });
             console.log("drew", drawn);
             await sleep(4000);
             return drawn`,
    }),
    () => sleep(2500),
  );
  const [before] = await second.d1("SELECT * FROM ledger");
  const answer = await repeat();
  assert.equal(answer.body.status, "completed", JSON.stringify(answer.body));
  assert.equal(answer.body.id, before.run_id, "it is the same run");
  const texts = answer.body.logs.map((/** @type {any} */ line) => line.text);
  assert.deepEqual(texts, [`drew ${answer.body.result}`]);
  const [row] = await second.d1("SELECT fence, status FROM runs");
  assert.deepEqual(row, { fence: 2, status: "completed" });
  assert.deepEqual((await repeat()).body, answer.body);
});

test(
  "during an effect: it is not made twice, and the answer says so",
  { timeout: 120_000 },
  async (t) => {
    const { repeat, hits, second } = await crash(
      t,
      (origin) => ({
        code: `return await tools.http.fetch({ url: "${origin}/slow", method: "POST" })`,
      }),
      (_, seen) => hit(seen, "/slow"),
    );
    const answer = await repeat();
    assert.equal(answer.status, 200);
    assert.equal(answer.body.status, "failed");
    assert.equal(answer.body.errorDetails.kind, "effect_unknown", JSON.stringify(answer.body));
    assert.deepEqual((await repeat()).body, answer.body);
    assert.deepEqual(hits, ["/slow"]);
    const [dispatch] = await second.d1("SELECT * FROM dispatches");
    assert.equal(dispatch.state, "called", "nobody knows whether it had its effect");
  },
);

test(
  "after the outcome is stored, whether or not it was answered: it is the answer",
  { timeout: 120_000 },
  async (t) => {
    const { repeat, hits, second } = await crash(
      t,
      (origin) => ({
        code: `return (await tools.http.fetch({ url: "${origin}/quick", method: "POST" })).status`,
      }),
      async (first, seen) => {
        await hit(seen, "/quick");
        for (let i = 0; i < 100; i++) {
          const { runs } = (await first.json("/v1/runs")).body;
          if (runs[0].status === "completed") return;
          await sleep(20);
        }
        assert.fail("it never ended");
      },
    );
    const answer = await repeat();
    assert.equal(answer.body.result, 200, JSON.stringify(answer.body));
    assert.equal(answer.headers.get("idempotency-replayed"), "true");
    assert.deepEqual(hits, ["/quick"]);
    assert.equal((await second.d1("SELECT id FROM runs")).length, 1);
  },
);

test("two callers take over at once: one run", { timeout: 120_000 }, async (t) => {
  const { repeat, second } = await crash(
    t,
    () => ({ code: `await sleep(1500); return Math.random()` }),
    () => sleep(1000),
  );
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 10; i++) {
        const answer = await repeat();
        if (answer.status !== 409) return answer;
        await sleep(500);
      }
      throw new Error("never answered");
    }),
  );
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.ok(answers.every(({ body }) => body.status === "completed"));
  const done = await second.d1("SELECT id FROM runs WHERE status = 'completed'");
  assert.equal(done.length, 1);
});
