// Rule: a guarded program that does not end is ended once its budget is spent, whatever it catches,
// and nothing that it returns after that is its outcome.
//
// Each program runs in a thread of its own, which can be ended from outside should the guard fail.
import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { MUST_END, WITHOUT_END } from "./endless.mjs";
import { prepareAll } from "./prepare.mjs";

const BUDGET_MS = 100;
/** Far over any budget: only a program that the guard cannot end takes this long. */
const PATIENCE_MS = 20_000;

/**
 * @param {string} module
 * @returns {Promise<{ ended: boolean, outcome?: string }>}
 */
function run(module) {
  const worker = new Worker(new URL("./endless_worker.mjs", import.meta.url), {
    workerData: { module, budgetMs: BUDGET_MS },
  });
  return new Promise((resolve, reject) => {
    const patience = setTimeout(() => {
      resolve({ ended: false });
      void worker.terminate();
    }, PATIENCE_MS);
    worker.once("message", (message) => {
      clearTimeout(patience);
      resolve(message);
      void worker.terminate();
    });
    worker.once("error", reject);
  });
}

const programs = Object.entries({ ...MUST_END, ...WITHOUT_END });
const answers = prepareAll(programs.map(([, source]) => ({ source, guard: true })));
for (const [i, [name]] of programs.entries()) {
  test(name, async () => {
    assert.equal(answers[i].refusal, undefined);
    assert.deepEqual(await run(answers[i].module), { ended: true });
  });
}

test("without the guard, the test itself would notice", async () => {
  const [{ module }] = prepareAll([{ source: "return 1", guard: true }]);
  assert.deepEqual(await run(module), { ended: false, outcome: "1" });
});
