// Rule: a lost run that somebody comes back for goes on from its record, on whichever surface it came: what
// it did is not done again, and of what nobody knows it is told. One that nobody comes back for ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crash, hit } from "./crash.mjs";
import { sleep } from "./harness.mjs";

test("effects before the crash are not made again, those behind it are made", async (t) => {
  const { repeat, hits, second } = await crash(
    t,
    (origin) => ({
      code: `const at = (path) => tools.http.fetch({ url: "${origin}" + path, method: "POST" });
             const out = [(await at("/one")).body, (await at("/two")).body];
             await sleep(3000);
             return [...out, (await at("/three")).body]`,
    }),
    async (_, seen) => {
      await hit(seen, "/two");
      await sleep(1500);
    },
  );
  const answer = await repeat();
  assert.deepEqual(answer.body.result, ["done", "done", "done"], JSON.stringify(answer.body));
  assert.deepEqual(hits, ["/one", "/two", "/three"]);
  assert.equal((await second.d1("SELECT id FROM runs")).length, 1);
});

test("an unknown effect can be caught, and the run goes on behind it", async (t) => {
  const { repeat, hits } = await crash(
    t,
    (origin) => ({
      code: `const at = (path) => tools.http.fetch({ url: "${origin}" + path, method: "POST" });
             try { await at("/slow"); } catch (error) { return [error.code, (await at("/after")).body]; }`,
    }),
    (_, seen) => hit(seen, "/slow"),
  );
  const answer = await repeat();
  assert.deepEqual(answer.body.result, ["HF_E1803", "done"], JSON.stringify(answer.body));
  assert.deepEqual(hits, ["/slow", "/after"]);
});

test("the schedule that comes first has it go on", { timeout: 120_000 }, async (t) => {
  const { repeat, second } = await crash(
    t,
    () => ({ code: `await sleep(params.ms); return "done"`, params: { ms: 4000 } }),
    () => sleep(2000),
  );
  const [before] = await second.d1("SELECT run_id FROM ledger");
  await second.scheduled();
  const [row] = await second.d1("SELECT id, fence, status FROM runs");
  assert.deepEqual(row, { id: before.run_id, fence: 2, status: "completed" });
  assert.equal((await repeat()).body.result, "done");
});

test("it says at once that it goes on, though its program only sleeps", async (t) => {
  const { repeat, second } = await crash(
    t,
    (origin) => ({
      code: `await tools.http.fetch({ url: "${origin}/one", method: "POST" });
             await sleep(4500);
             return "slept"`,
    }),
    async (_, seen) => {
      await hit(seen, "/one");
      await sleep(1200);
    },
  );
  assert.equal((await repeat()).body.result, "slept");
  const [row] = await second.d1("SELECT loaded_ms FROM attempts WHERE fence = 2");
  // A sandbox that is not heard of counts as one that was never made, and ends the run after 20 s.
  assert.ok(row.loaded_ms < 1500, `heard of after ${row.loaded_ms} ms`);
});

test("a lost run without a key ends, and names what nobody knows of", async (t) => {
  const { second, hits } = await crash(
    t,
    (origin) => ({
      code: `await tools.http.fetch({ url: "${origin}/quick", method: "POST" });
             await tools.http.fetch({ url: "${origin}/slow", method: "POST" })`,
    }),
    (_, seen) => hit(seen, "/slow"),
    {},
  );
  await second.scheduled();
  const [{ id }] = await second.d1("SELECT id FROM runs");
  const run = (await second.json(`/v1/runs/${id}`)).body;
  assert.equal(run.errorDetails.kind, "sandbox_gone", JSON.stringify(run));
  assert.deepEqual(run.errorDetails.effectUnknown, [{ n: 1, tool: "http.fetch" }]);
  assert.deepEqual(hits, ["/quick", "/slow"]);
});
