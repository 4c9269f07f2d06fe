// Rule: what was answered is what is stored: the run, its response byte for byte, its logs and one
// row per dispatch are in D1 when the answer leaves. The beats of a streamed answer are not in it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

test("a run, its response and its dispatches are there when the answer leaves", async () => {
  const code = `
    for (let i = 0; i < 3; i++) await tools.storage.set({ key: "k" + i, value: { i } });
    const { keys } = await tools.storage.list({ prefix: "k" });
    console.log("listed", keys.length);
    return Promise.all(keys.map(async (key) => (await tools.storage.get({ key })).value.i));`;
  const answer = await w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, label: "stored" }),
  });
  // On a busy machine it takes more than a second: the beats are not part of what is stored.
  const text = (await answer.text()).trimStart();
  const run = JSON.parse(text);
  assert.deepEqual(run.result, [0, 1, 2]);
  const [row] = await w.d1("SELECT * FROM runs WHERE id = ?", run.id);
  assert.equal(row.status, "completed");
  assert.equal(row.label, "stored");
  const parts = await w.d1("SELECT body FROM run_responses WHERE run_id = ? ORDER BY part", run.id);
  assert.equal(parts.map((part) => part.body).join(""), text);
  const dispatches = await w.d1(
    "SELECT n, path, state FROM dispatches WHERE run_id = ? ORDER BY n",
    run.id,
  );
  assert.equal(dispatches.length, 7);
  assert.ok(
    dispatches.every(({ state }) => state === "returned"),
    JSON.stringify(dispatches),
  );
  const looked = await w.fetch(`/v1/runs/${run.id}`);
  assert.equal(await looked.text(), text);
});

test("a streamed answer has a beat a second, and the stored one has none", async () => {
  const answer = await w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "await sleep(2500); return 1" }),
  });
  const text = await answer.text();
  const beats = /^ */.exec(text)?.[0].length ?? 0;
  assert.ok(beats >= 1 && beats <= 4, `${beats} beats`);
  const run = JSON.parse(text);
  assert.equal(run.result, 1);
  assert.equal(await (await w.fetch(`/v1/runs/${run.id}`)).text(), text.trimStart());
});

test("a large result is kept whole", async () => {
  const run = await w.execute('return "é".repeat(500000)');
  assert.equal(run.result.length, 500_000);
  const looked = await w.json(`/v1/runs/${run.id}`);
  assert.deepEqual(looked.body, run);
});

test("runs are listed newest first, in pages, by status", async () => {
  for (let i = 0; i < 3; i++) await w.execute({ code: "throw new Error('x')", label: `page ${i}` });
  const first = (await w.json("/v1/runs?status=failed&limit=2")).body;
  assert.deepEqual(
    first.runs.map((/** @type {any} */ run) => run.label),
    ["page 2", "page 1"],
  );
  const second = (
    await w.json(`/v1/runs?status=failed&limit=2&cursor=${encodeURIComponent(first.nextCursor)}`)
  ).body;
  assert.equal(second.runs[0].label, "page 0");
  assert.equal(second.nextCursor, undefined);
});
