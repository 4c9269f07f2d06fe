// Rule: runs at the same time share nothing: each gets its own parameters, storage and result.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

const RUNS = 200;
const AT_ONCE = 8;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

test(
  "200 runs, eight at once, are all right and none is mixed up",
  { timeout: 240_000 },
  async () => {
    const code = `
    console.log("run", params.i);
    await tools.storage.set({ key: "mix" + params.i, value: params.i });
    const { value } = await tools.storage.get({ key: "mix" + params.i });
    return { i: params.i, value, id: run.id };`;
    /** @type {any[]} */
    const runs = [];
    let next = 0;
    const worker = async () => {
      while (next < RUNS) {
        const i = next++;
        runs[i] = await w.execute({ code, params: { i } });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    for (let i = 0; i < RUNS; i++) {
      const run = runs[i];
      assert.equal(run.status, "completed", JSON.stringify(run));
      assert.deepEqual(run.result, { i, value: i, id: run.id });
      assert.deepEqual(
        run.logs.map((/** @type {any} */ line) => line.text),
        [`run ${i}`],
      );
    }
    assert.equal(new Set(runs.map((run) => run.id)).size, RUNS);
    assert.deepEqual(await w.d1("SELECT id FROM runs WHERE status = 'running'"), []);
  },
);
