// Rule: a page costs what it shows, not what is stored, and is there before somebody waits. The times of
// this machine are printed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { principal, visitor } from "./support/visitor.mjs";

/** The longest that a page may take on the server. */
const MOST_MS = 300;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

/**
 * The middle of several times, in ms.
 *
 * @param {ReturnType<typeof visitor>} v
 * @param {string} place
 */
async function time(v, place) {
  const took = [];
  for (let i = 0; i < 9; i++) {
    const began = performance.now();
    const { status } = await v.get(place);
    took.push(performance.now() - began);
    assert.equal(status, 200);
  }
  return took.sort((a, b) => a - b)[4] ?? Infinity;
}

test("a thousand runs and a run with 256 calls are shown quickly", async (t) => {
  const few = await principal(w);
  const many = await principal(w);
  const small = await few.run(`return await tools.storage.get({ key: "a" })`);
  const large = await many.run(`
    for (let i = 0; i < 4; i++)
      await Promise.all(Array.from({ length: 64 }, (_, j) => tools.storage.get({ key: "k" + j })));
    return "done";`);
  assert.equal(large.status, "completed", JSON.stringify(large));
  await w.d1(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
     INSERT INTO runs (id, principal, surface, status, budget_ms, created_at, ended_at, fence, lease_until)
     SELECT printf('run_%032d', i), ?, 'execute', 'completed', 90000, i, i, 1, 0 FROM n`,
    many.name,
  );
  await w.d1(
    `INSERT INTO run_inputs (run_id, source, params)
     SELECT id, '// a program' || char(10) || 'return ' || id, '{}' FROM runs
     WHERE principal = ? AND created_at <= 1000`,
    many.name,
  );
  const [a, b] = [visitor(w), visitor(w)];
  await a.signIn(few.person);
  await b.signIn(many.person);
  const one = await time(a, "/");
  const all = await time(b, "/");
  const searched = await time(b, "/?text=run_00000000000000000000000000000001");
  const short = await time(a, `/runs/${small.id}`);
  const long = await time(b, `/runs/${large.id}`);
  const page = await b.get(`/runs/${large.id}`);
  assert.equal(page.text.match(/id="call-/g)?.length, 256);
  const ms = (/** @type {number} */ time) => `${time.toFixed(0)} ms`;
  t.diagnostic(
    `list: of 1 run ${ms(one)}, of 1,001 ${ms(all)}, by a text that is rare ${ms(searched)}`,
  );
  t.diagnostic(`run: with 1 call ${ms(short)}, with 256 ${ms(long)}`);
  for (const took of [all, searched, long]) assert.ok(took < MOST_MS, ms(took));
  assert.ok(all < one * 10 + 20, `${ms(all)} against ${ms(one)}`);
  assert.ok(long < short * 15 + 20, `${ms(long)} against ${ms(short)}`);
});
