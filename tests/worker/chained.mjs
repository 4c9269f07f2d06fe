// Two chained approvals in one invocation, held live: a budget of 5 min, windows of 4 min, given at 3.5
// and at 5.75 min. Scaled down for `npm test`, as it is for `npm run test:slow`.
import assert from "node:assert/strict";
import { start } from "./harness.mjs";
import { principal } from "./people.mjs";

const MINUTE_MS = 60_000;

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {number} scale how much shorter than in real time
 */
export async function chained(scale) {
  const minutes = (/** @type {number} */ n) => Math.round((n * MINUTE_MS) / scale);
  const w = await start({ vars: { HOLDFAST_HOLD_MS: String(minutes(5)) } });
  try {
    const rules = [{ pattern: "storage.delete", action: "ask", windowMs: minutes(4) }];
    const p = await principal(w, rules);
    const keeper = await w.json("/v1/tokens", {
      label: "t",
      principal: p.name,
      scopes: ["packages"],
    });
    const saved = await w.json(
      "/v1/packages/chained",
      {
        modules: {
          "main.js": `export async function go() {
            const made = [];
            for (const key of ["a", "b"]) {
              const { value = 0 } = await tools.storage.get({ key: "asked" });
              await tools.storage.set({ key: "asked", value: value + 1 });
              await tools.storage.delete({ key });
              made.push(key);
            }
            return made.join();
          }`,
        },
      },
      { method: "PUT", token: keeper.body.token },
    );
    assert.ok(saved.status < 300, JSON.stringify(saved.body));

    const began = Date.now();
    const hold = Math.ceil(minutes(5) / 1000);
    const answer = w.json(
      `/v1/packages/chained/go?hold=${hold}`,
      { budgetMs: minutes(5) },
      { token: p.agent, timeoutMs: minutes(10) + MINUTE_MS },
    );
    answer.catch(() => {}); // told below, if it comes to that
    for (const [key, at] of /** @type {[string, number][]} */ ([
      ["a", minutes(3.5)],
      ["b", minutes(5.75)],
    ])) {
      await sleep(began + at - Date.now());
      const [open, ...others] = await p.approvals();
      assert.deepEqual(others, []);
      assert.deepEqual(open?.arguments, { key }, "a live pause is reached");
      assert.equal((await p.decide(open.id, "allow")).status, 200);
    }
    const run = (await answer).body;
    assert.equal(run.status, "completed", JSON.stringify(run));
    assert.equal(run.result, "a,b");
    assert.ok(run.timing.totalMs > minutes(5), "it took longer than its budget");
    const [row] = await w.d1("SELECT fence FROM runs WHERE id = ?", run.id);
    assert.equal(row.fence, 1, "one attempt, live");
    const calls = await w.d1(
      "SELECT path, COUNT(*) AS n FROM dispatches WHERE run_id = ? AND path = 'storage.delete'",
      run.id,
    );
    assert.equal(calls[0].n, 2, "both tools ran once");
    const asked = await w.d1("SELECT value FROM storage WHERE key = 'asked'");
    assert.equal(asked[0].value, "2", "the program ran once");
  } finally {
    await w.stop();
  }
}
