// Rule: whatever a program does with promises, timers, time and randomness, and however often it is parked, crashes
// or loses its lease, its outcome, lines, calls, events and effects are those of one uninterrupted attempt that met
// the same events. And each rule of the harness and the host is needed: switched off, the same check fails.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const CHECK = new URL("replay/check.mjs", import.meta.url).pathname;
const HISTORIES = process.env.HOLDFAST_HISTORIES ?? "2000";

/**
 * The check's verdict: its last line.
 *
 * @param {string[]} args
 */
async function check(...args) {
  const { stdout } = await run(process.execPath, [CHECK, ...args], {
    maxBuffer: 64 << 20,
    timeout: 900_000,
  });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

test(`the property holds for ${HISTORIES} histories`, async (t) => {
  const first = process.env.HOLDFAST_SEED ?? String(1 + Math.floor(Math.random() * 1e9));
  t.diagnostic(
    `seeds from ${first}; again with HOLDFAST_SEED=${first} HOLDFAST_HISTORIES=${HISTORIES}`,
  );
  const verdict = await check("--seed", first, "--histories", HISTORIES);
  t.diagnostic(JSON.stringify(verdict.sum));
  assert.deepEqual(
    { failed: verdict.failed, faults: verdict.faults, seeds: verdict.seeds },
    { failed: 0, faults: {}, seeds: [] },
  );
  assert.equal(verdict.passed, Number(HISTORIES));
  assert.ok(
    verdict.sum.parks > 0 && verdict.sum.crashes > 0 && verdict.sum.replayed > 0,
    "the histories are eventful",
  );
});

test("the property holds where sleeps park", async (t) => {
  const first = process.env.HOLDFAST_SEED ?? String(1 + Math.floor(Math.random() * 1e9));
  t.diagnostic(`seeds from ${first}; again with HOLDFAST_SEED=${first}`);
  const verdict = await check("--sleeps", "--seed", first, "--histories", "1000");
  assert.deepEqual(
    { failed: verdict.failed, faults: verdict.faults, seeds: verdict.seeds },
    { failed: 0, faults: {}, seeds: [] },
  );
  assert.ok(verdict.sum.sleeps > 20, `${verdict.sum.sleeps} sleeps parked a run`);
});

/** Where a rule's absence shows soonest: the first seed, and how many histories from there. */
const RULES = {
  "a turn is over when a macrotask of ours ran": [24, 60],
  "one event a turn": [79, 60],
  "a recorded answer is given at its event": [1, 20],
  "timers are events": [1, 20],
  "one timer a turn": [55, 40],
  "every message carries the events before it": [1, 20],
  "a line is known by its number": [1, 20],
  "the clock is recorded": [1, 20],
  "randomness is seeded": [1, 20],
  "operations of the platform are events": [1, 20],
  "a timer callback of ours does not close a turn": [2890, 20],
  "an ended program is given no reply that closed its turn": [73, 4],
  "a step's recorded result is asked for again": [83, 1],
  "effects are written down before they are made": [1, 60],
  "an attempt that lost its lease stores nothing": [1, 60],
  "the sandbox tells the order, not the host": [1, 20],
};

for (const [rule, [seed, histories]] of Object.entries(RULES)) {
  test(`it is needed that ${rule}`, async () => {
    const args = ["--seed", String(seed), "--histories", String(histories), "--stop", "1"];
    const verdict = await check("--without", rule, ...args);
    assert.ok(verdict.failed > 0, `${histories} histories from ${seed} passed without the rule`);
    assert.ok(
      !Object.keys(verdict.faults).some((fault) => fault.startsWith("threw")),
      "it failed for another reason",
    );
  });
}
