// Rule: no statement reads a whole table. The plans are SQLite's own, of every statement in
// src/store/, over the tables that the migrations make.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

/** Every SQL text of src/store/, with its file. */
function statements() {
  const folder = path.join(ROOT, "src/store");
  const found = [];
  for (const file of fs.readdirSync(folder)) {
    const text = fs.readFileSync(path.join(folder, file), "utf8");
    const code = (text.split("#[cfg(test)]")[0] ?? "").replace(/^\s*\/\/.*$/gm, "");
    for (const [, sql] of code.matchAll(/"((?:SELECT|INSERT|UPDATE|DELETE)\b[^"]*)"/g)) {
      found.push({ file, sql: sql ?? "" });
    }
  }
  return found;
}

test("every statement finds its rows by an index", async () => {
  const all = statements();
  assert.ok(all.length >= 40, `${all.length} statements were found`);
  const scans = [];
  for (const { file, sql } of all) {
    const count = Math.max(0, ...[...sql.matchAll(/\?(\d+)/g)].map(([, n]) => Number(n)));
    const plan = await w.d1(`EXPLAIN QUERY PLAN ${sql}`, ...Array(count).fill("1"));
    for (const { detail } of plan) {
      // A full-text index is asked by words (M) or by the row's number (=), never read through.
      const isAsked = /^SCAN \w+ VIRTUAL TABLE INDEX \d+:[=M]/.test(detail);
      const isScan = /^SCAN (?!CONSTANT ROW|json_each)/.test(detail) && !isAsked;
      // A range that an index gives in order is no scan of the table, whatever its columns cost.
      if (isScan || /AUTOMATIC/.test(detail)) scans.push(`${file}: ${detail}: ${sql}`);
    }
  }
  assert.deepEqual(scans, []);
});

test("ten thousand stored runs do not slow the list", async () => {
  await w.d1(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
    INSERT INTO runs (id, principal, surface, status, budget_ms, created_at, ended_at, fence, lease_until)
    SELECT printf('run_%032d', i), 'admin', 'execute', 'completed', 90000, i, i, 1, 0 FROM n`);
  const seen = new Set();
  let cursor = "";
  for (let page = 0; page < 101; page++) {
    const { body } = await w.json(`/v1/runs?limit=100${cursor}`);
    for (const { id } of body.runs) seen.add(id);
    if (body.nextCursor === undefined) break;
    cursor = `&cursor=${body.nextCursor}`;
  }
  assert.equal(seen.size, 10_000, "each run is on one page");
  const time = async (/** @type {string} */ query) => {
    const took = [];
    for (let i = 0; i < 15; i++) {
      const began = performance.now();
      await w.json(`/v1/runs?limit=20${query}`);
      took.push(performance.now() - began);
    }
    return took.sort((a, b) => a - b)[7] ?? Infinity;
  };
  // A page at the end costs what one at the beginning does: nothing before it is read.
  const first = await time("");
  const last = await time(`&cursor=100-${"run_"}${"0".repeat(29)}100`);
  assert.ok(last < first * 3 + 5, `first page ${first} ms, last page ${last} ms`);
});
