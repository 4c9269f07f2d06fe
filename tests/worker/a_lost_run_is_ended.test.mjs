// Rule: a run whose isolate died is found and ended as `sandbox_gone`, with the logs that were stored,
// on read and on the schedule. The process is killed for real.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { sleep, start, startProcess } from "./harness.mjs";

test("a killed process leaves no row running", { timeout: 120_000 }, async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const first = await startProcess({ state });
  const lost = ["read", "swept"].map((label) =>
    first
      .json("/v1/runs", {
        code: `console.log("began"); await tools.storage.set({ key: "a", value: 1 });
               console.log("went on"); await sleep(60000)`,
        label,
      })
      .catch(() => "lost"),
  );
  await sleep(3500); // past the first note, so that both lines are stored
  await first.kill();
  assert.deepEqual(await Promise.all(lost), ["lost", "lost"]);

  const second = await start({ state });
  t.after(() => second.stop());
  const rows = await second.d1("SELECT id, label FROM runs WHERE status = 'running'");
  assert.equal(rows.length, 2);
  const idOf = (/** @type {string} */ label) => rows.find((row) => row.label === label).id;

  const alive = (await second.json(`/v1/runs/${idOf("read")}`)).body;
  assert.equal(alive.status, "running", "within its lease it may still be alive");
  await second.d1("UPDATE runs SET lease_until = 1");

  const read = (await second.json(`/v1/runs/${idOf("read")}`)).body;
  assert.equal(read.status, "failed");
  assert.equal(read.errorDetails.kind, "sandbox_gone");
  assert.equal(read.errorDetails.isTimeout, false);
  assert.deepEqual(
    read.logs.map((/** @type {any} */ line) => line.text),
    ["began", "went on"],
  );
  assert.deepEqual((await second.json(`/v1/runs/${idOf("read")}`)).body, read);

  await second.scheduled();
  const [swept] = await second.d1("SELECT * FROM runs WHERE id = ?", idOf("swept"));
  assert.equal(swept.status, "failed");
  assert.equal(swept.error_kind, "sandbox_gone");
  const [dispatch] = await second.d1("SELECT * FROM dispatches WHERE run_id = ?", swept.id);
  assert.equal(dispatch.state, "returned");
});
