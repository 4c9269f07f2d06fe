// Rule: two set-ups that share a cache work one after the other, and one that died does not keep
// the next from working.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { before, test } from "node:test";
import { withLock } from "../../scripts/lib/lock.mjs";

const cache = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
const lockFile = (/** @type {string} */ name) => path.join(cache, "locks", `${name}.lock`);

before(() => {
  process.env.HOLDFAST_CACHE = cache;
  return () => fs.rmSync(cache, { recursive: true, force: true });
});

test("the second waits for the first, and finds the lock gone afterwards", async () => {
  /** @type {string[]} */
  const log = [];
  const work = (/** @type {string} */ name) => async () => {
    log.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    log.push(`${name} ends`);
    return name;
  };
  const both = await Promise.all([withLock("a", work("first")), withLock("a", work("second"))]);
  assert.deepEqual(both, ["first", "second"]);
  assert.deepEqual(log, ["first begins", "first ends", "second begins", "second ends"]);
  assert.equal(fs.existsSync(lockFile("a")), false);
});

test("work that fails lets go of the lock", async () => {
  await assert.rejects(
    withLock("b", () => Promise.reject(new Error("no disk"))),
    /no disk/,
  );
  assert.equal(await withLock("b", async () => "next"), "next");
});

for (const [name, text, silentMs] of /** @type {const} */ ([
  ["a process that is no more", String(spawnSync("true").pid), 0],
  ["a process that has been silent for too long", String(process.pid), 120_000],
  ["one that died before it could say its name", "", 120_000],
])) {
  test(`a lock is taken over from ${name}`, async () => {
    fs.mkdirSync(path.dirname(lockFile("c")), { recursive: true });
    fs.writeFileSync(lockFile("c"), text);
    const then = new Date(Date.now() - silentMs);
    fs.utimesSync(lockFile("c"), then, then);
    assert.equal(await withLock("c", async () => "mine"), "mine");
  });
}
