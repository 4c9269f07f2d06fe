// Rule: killed at any step and run again, a preview ends in the same state.
//
// The stand-in carries out a request that changes something, and then ends the script and all it
// started with SIGKILL in place of an answer. Run again it is ended at the next such request, and
// so on until one run meets none that has not ended one before. So every request that changes
// something is once the last of a run, and each run starts from what the one before left behind.
// (Of what is uploaded once more, a mock's requests count as the worker's: they are the same code's.)
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { killGroup, open, rows, shape, wholePreview } from "./stage.mjs";

/** No life of a preview has so many steps; a run that never ends is a failure, not a hang. */
const MAX_RUNS = 60;

const UP = /** @type {[string, string[]][]} */ ([
  ["deploy", []],
  ["seed", []],
  ["check", []],
  ["comment", ["--status", "ready"]],
]);
const DOWN = /** @type {[string, string[]][]} */ ([
  ["cleanup", []],
  ["comment", ["--status", "removed"]],
]);

const killed = await open();
after(() => killed.close());

test("killed after each step on the way up, it comes up as if nothing had happened", async () => {
  const steps = await runKilling(UP);
  assert.deepEqual(shape(killed.cloud), wholePreview(killed.env));
  assert.deepEqual(
    await rows(killed.cloud, "holdfast-pr-7-db", "SELECT id, code FROM runs ORDER BY id"),
    [
      { id: "preview-seed-first", code: "return 1;" },
      { id: "preview-seed-second", code: "return 2;" },
    ],
  );
  assert.equal(killed.hub.state.comments.length, 1);
  assert.deepEqual(fs.readdirSync(path.join(killed.project, ".holdfast/deploy")), []);
  // The steps that must be among those that ended a run, or the test tests less than it says.
  for (const step of [
    /^POST \S+\/d1\/database$/,
    /^POST \S+\/storage\/kv\/namespaces$/,
    /^POST \S+\/query .*CREATE TABLE IF NOT EXISTS \\"d1_migrations/,
    /^POST \S+\/query .*CREATE TABLE runs/,
    /^POST \S+\/query .*CREATE TABLE notes/,
    /^PUT \S+\/workers\/scripts\/holdfast-pr-7-mock-echo\b/,
    /^PUT \S+\/workers\/scripts\/holdfast-pr-7\?/,
    /^POST \S+\/holdfast-pr-7\/versions/,
    /^POST \S+\/holdfast-pr-7\/deployments/,
    /^POST \S+\/holdfast-pr-7\/subdomain/,
    /^PUT \S+\/holdfast-pr-7\/schedules/,
    /^PUT \S+\/workflows\/holdfast-pr-7-workflow/,
    /^PUT \S+\/holdfast-pr-7\/secrets/,
    /^POST \S+\/holdfast-pr-7\/v1\/runs/,
    /^POST \S+\/query .*INSERT OR IGNORE INTO preview_seeds/,
    /^POST \S+\/issues\/7\/comments/,
  ]) {
    assert.ok(
      steps.some((one) => step.test(one)),
      `${step} ended no run of\n${steps.join("\n")}`,
    );
  }
});

test("killed after each step on the way down, it leaves nothing", async () => {
  const steps = await runKilling(DOWN);
  assert.deepEqual(shape(killed.cloud), {
    workers: {},
    databases: {},
    namespaces: [],
    workflows: {},
  });
  assert.match(killed.hub.state.comments[0]?.body ?? "", /torn down/);
  for (const kind of ["workers/scripts", "workflows", "storage/kv/namespaces", "d1/database"]) {
    assert.ok(
      steps.some((one) => one.startsWith("DELETE") && one.includes(`/${kind}/`)),
      kind,
    );
  }
});

/**
 * Runs the commands again and again, until none of their steps is left that has not ended a run.
 *
 * @param {[string, string[]][]} commands
 * @returns {Promise<string[]>} The steps that ended one.
 */
async function runKilling(commands) {
  /** @type {Set<string>} */
  const steps = new Set();
  let running = 0;
  const answering = async (/** @type {import("../../mocks/kit/mock.mjs").Entry} */ entry) => {
    // A worker's own writes are the database's, so a visit is known by its method.
    const isChange =
      entry.changed || (entry.method === "POST" && entry.path.startsWith("/__workers/"));
    const body =
      entry.path.includes("/query") || entry.path.startsWith("/__workers/") ? ` ${entry.body}` : "";
    const isFirst = entry.method === "PUT" && entry.path.includes("/workers/scripts/");
    const at = isFirst
      ? entry.path
      : entry.path.replace("/holdfast-pr-7-mock-echo/", "/holdfast-pr-7/");
    const step = `${entry.method} ${at}${body.replace(/\s+/g, " ")}`;
    if (!isChange || steps.has(step)) return;
    steps.add(step);
    killGroup(running);
  };
  killed.cloud.answering = answering;
  killed.hub.answering = answering;
  for (let runs = 0; runs < MAX_RUNS; runs += 1) {
    let wasKilled = false;
    for (const [command, args] of commands) {
      const ended = await killed.preview(command, 7, args, { started: (pid) => (running = pid) });
      wasKilled = ended.signal === "SIGKILL";
      if (wasKilled) break;
      assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
    }
    if (!wasKilled) return [...steps];
  }
  return assert.fail(`still not done after ${MAX_RUNS} runs:\n${[...steps].join("\n")}`);
}
