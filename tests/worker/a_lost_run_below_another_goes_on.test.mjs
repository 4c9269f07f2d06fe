// Rule: a run that a run invoked, and that was lost with it, goes on from its own record when its parent
// does and makes the call again: its parent is who comes back for it. Each effect of both is made once. Where
// nobody comes back for the parent, both end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crash, hit } from "./crash.mjs";
import { sleep } from "./harness.mjs";

/** @typedef {Parameters<typeof crash>} Crash */

/** A package whose exports make effects before and behind a sleep. @param {string} origin */
const modules = (origin) => ({
  "index.js": `
const at = async (path) =>
  (await tools.http.fetch({ url: "${origin}" + path, method: "POST" })).body;
export const work = async () => {
  const draw = Math.random();
  const out = [await at("/one")];
  console.log("drew", draw);
  await sleep(3000);
  return { draw, out: [...out, await at("/two")] };
};
export const outer = async () => {
  const begun = await at("/outer");
  return { begun, inner: await packages.invoke("kit/work") };
};
export const slow = () => at("/slow");`,
});

/** @type {NonNullable<Crash[4]>} */
const save = async (first, origin) => {
  const body = { modules: modules(origin) };
  const saved = await first.json("/v1/packages/kit", body, { method: "PUT" });
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
};

/** @type {NonNullable<Crash[2]>} */
const inItsSleep = async (_, hits) => {
  await hit(hits, "/one");
  await sleep(1200);
};

const KEY = { "idempotency-key": "below" };

test("it goes on in the same place, at every level", { timeout: 120_000 }, async (t) => {
  const { repeat, hits, second } = await crash(
    t,
    () => ({ code: `return await packages.invoke("kit/outer")` }),
    inItsSleep,
    KEY,
    save,
  );
  const { body } = await repeat();
  assert.equal(body.status, "completed", JSON.stringify(body));
  assert.deepEqual(body.result.inner.out, ["done", "done"]);
  assert.deepEqual(hits, ["/outer", "/one", "/two"], "each effect once");
  const rows = await second.d1("SELECT id, status, fence FROM runs ORDER BY created_at, id");
  assert.deepEqual(
    rows.map(({ status, fence }) => [status, fence]),
    Array(3).fill(["completed", 2]),
    "each run has one row, and was taken up once",
  );
  const [{ id }] = await second.d1(
    "SELECT id FROM runs WHERE label IS NULL AND surface = 'invocation' ORDER BY created_at DESC",
  );
  const work = (await second.json(`/v1/runs/${id}`)).body;
  const lines = work.logs.map((/** @type {any} */ line) => line.text);
  assert.deepEqual(lines, [`drew ${body.result.inner.draw}`], "nothing is drawn or logged anew");
});

test("one under a key of its own does, too", { timeout: 120_000 }, async (t) => {
  const { repeat, hits, second } = await crash(
    t,
    () => ({
      code: `return await packages.invoke("kit/work", {}, { idempotencyKey: "once" })`,
    }),
    inItsSleep,
    KEY,
    save,
  );
  // Whoever comes first, the schedule or who asks again: one attempt of each is made.
  const [{ body }] = await Promise.all([repeat(), second.scheduled()]);
  const run = body.error?.kind === "in_progress" ? (await repeat()).body : body;
  assert.deepEqual(run.result?.out, ["done", "done"], JSON.stringify(run));
  assert.deepEqual(hits, ["/one", "/two"]);
  assert.equal((await second.d1("SELECT id FROM runs")).length, 2);
});

test(
  "an effect of which nobody knows is told to whoever invoked it",
  { timeout: 120_000 },
  async (t) => {
    const { repeat, hits } = await crash(
      t,
      () => ({ code: `return await packages.invoke("kit/slow").catch((e) => [e.name, e.code])` }),
      (_, seen) => hit(seen, "/slow"),
      KEY,
      save,
    );
    const { body } = await repeat();
    assert.deepEqual(body.result, ["PackageError", "HF_E1803"], JSON.stringify(body));
    assert.deepEqual(hits, ["/slow"], "it is not made again");
  },
);

test(
  "where nobody comes back, both end in one round of the schedule",
  { timeout: 120_000 },
  async (t) => {
    const { hits, second } = await crash(
      t,
      () => ({ code: `return await packages.invoke("kit/work")` }),
      inItsSleep,
      {},
      save,
    );
    await second.scheduled();
    const rows = await second.d1("SELECT status, error_kind FROM runs");
    const gone = { status: "failed", error_kind: "sandbox_gone" };
    assert.deepEqual(rows, [gone, gone]);
    assert.deepEqual(hits, ["/one"]);
  },
);

test(
  "who cancels a lost run ends it at once, and is told what nobody knows",
  { timeout: 120_000 },
  async (t) => {
    const { hits, second } = await crash(
      t,
      (origin) => ({
        code: `await tools.http.fetch({ url: "${origin}/slow", method: "POST" })`,
      }),
      (_, seen) => hit(seen, "/slow"),
      KEY,
    );
    const [{ id }] = await second.d1("SELECT id FROM runs");
    const began = Date.now();
    const { body } = await second.json(`/v1/runs/${id}/cancel`, {});
    assert.equal(body.status, "cancelled", JSON.stringify(body));
    assert.deepEqual(body.errorDetails.effectUnknown, [{ n: 0, tool: "http.fetch" }]);
    assert.ok(Date.now() - began < 2000, "nothing is waited for");
    assert.deepEqual(hits, ["/slow"]);
  },
);
