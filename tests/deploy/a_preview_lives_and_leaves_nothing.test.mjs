// Rule: ensure → deploy → seed → check → comment → close → cleanup leaves no resource; said again
// each step changes nothing; nothing of another pull request or of production is ever touched.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { OTHER_SHA, open, rows, shape, wholePreview } from "./stage.mjs";

/** Names that a careless prefix or pattern takes for those of #7. */
const NEIGHBOURS = [
  "holdfast",
  "holdfast-pr-71",
  "holdfast-pr-70-mock-echo",
  "my-holdfast-pr-7",
  "holdfast-pr-7x",
];

const LIFE = /** @type {[string, string[]][]} */ ([
  ["ensure", []],
  ["deploy", []],
  ["seed", []],
  ["check", []],
  ["comment", ["--status", "ready"]],
]);

/** @type {string[]} What the scripts printed. */
const outputs = [];

const stage = await open();
after(() => stage.close());
for (const name of NEIGHBOURS) await settle(name);
const neighbours = JSON.stringify(shape(stage.cloud));

test("a dry run of its life changes nothing while there is nothing", () => dryRun());

test("a preview comes up with everything of its own", async () => {
  for (const [command, args] of LIFE) {
    const ended = await stage.preview(command, 7, args);
    assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
    outputs.push(ended.stdout, ended.stderr);
  }
  assert.deepEqual(ours(), wholePreview(stage.env));
  assert.deepEqual(
    (await rows(stage.cloud, "holdfast-pr-7-db", "SELECT id FROM runs ORDER BY id")).map(
      ({ id }) => id,
    ),
    ["preview-seed-first", "preview-seed-second"],
  );
});

test("its secrets are fresh, and on no disk, in no output and in no comment", async () => {
  const values = (stage.cloud.live("holdfast-pr-7")?.bindings ?? [])
    .filter(({ type }) => type === "secret_text")
    .map(({ text }) => String(text));
  assert.equal(new Set(values).size, 3);
  for (const value of values) assert.ok(value.length >= 43, "256 bits");
  const files = fs
    .readdirSync(stage.project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
  const said = JSON.stringify([stage.cloud.log, stage.hub.state, outputs, files]);
  for (const value of values) assert.ok(!said.includes(value));
  assert.ok(!fs.existsSync(path.join(stage.project, ".holdfast/deploy/holdfast-pr-7")));
});

test("said again, no step changes anything", async () => {
  const before = [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.state)];
  const from = stage.cloud.log.length;
  for (const [command, args] of LIFE) {
    const ended = await stage.preview(command, 7, args);
    assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
  }
  assert.deepEqual(
    stage.cloud.log.slice(from).filter(({ changed }) => changed),
    [],
  );
  assert.deepEqual(
    [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.state)],
    before,
  );
});

test("a dry run of its life changes nothing while it is there", () => dryRun());

test("a push brings the commit and leaves the data, the keys and the ids", async () => {
  const before = stage.cloud.state.databases;
  const secrets = (/** @type {string} */ name) =>
    stage.cloud.live("holdfast-pr-7")?.bindings.find((one) => one.name === name)?.text;
  const keys = [secrets("HOLDFAST_SIGNING_KEY"), secrets("HOLDFAST_SECRETS_KEY")];
  const deployed = await stage.preview("deploy", 7, ["--sha", OTHER_SHA]);
  assert.equal(deployed.code, 0, deployed.stderr);
  assert.equal(deployed.result.changed, true);
  assert.deepEqual(deployed.result.migrations, []);
  const checked = await stage.preview("check", 7, ["--sha", OTHER_SHA]);
  assert.equal(checked.code, 0, checked.stderr);
  assert.deepEqual([secrets("HOLDFAST_SIGNING_KEY"), secrets("HOLDFAST_SECRETS_KEY")], keys);
  assert.deepEqual(Object.keys(stage.cloud.state.databases), Object.keys(before));
});

test("closed and cleaned up, nothing of it is left and nothing else is gone", async () => {
  const cleaned = await stage.preview("cleanup", 7);
  assert.equal(cleaned.code, 0, cleaned.stderr);
  assert.deepEqual(cleaned.result.left, []);
  assert.equal(cleaned.result.removed.length, 5);
  const told = await stage.preview("comment", 7, ["--status", "removed"]);
  assert.equal(told.code, 0, told.stderr);
  assert.match(stage.hub.state.comments[0]?.body ?? "", /torn down/);
  assert.equal(JSON.stringify(shape(stage.cloud)), neighbours);
  const again = await stage.preview("cleanup", 7);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(again.result.found, []);
});

test("no request that changed something was about anything else", () => {
  const changing = stage.cloud.log.filter(({ method }) => method !== "GET");
  assert.ok(changing.length > 20);
  for (const { method, path: at, touched } of changing) {
    assert.ok(touched.length > 0, `${method} ${at}`);
    for (const name of touched) {
      assert.match(name, /^[a-z0-9]+:holdfast-pr-7(-|$)/, `${method} ${at}`);
    }
  }
  assert.deepEqual(
    stage.cloud.log.filter(({ known }) => !known),
    [],
  );
});

async function dryRun() {
  const before = [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.state)];
  for (const [command, args] of [...LIFE, ["cleanup", []]]) {
    const ended = await stage.preview(String(command), 7, [...(args ?? []), "--dry-run"]);
    assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
    assert.equal(ended.result.dryRun, true);
  }
  assert.deepEqual(
    [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.state)],
    before,
  );
}

/** What there is without the neighbours. */
function ours() {
  const { workers, databases, namespaces, workflows } = shape(stage.cloud);
  const isOurs = (/** @type {string} */ name) => /^holdfast-pr-7(-|$)/.test(name);
  /**
   * @template T
   * @param {Record<string, T>} named
   */
  const only = (named) =>
    Object.fromEntries(Object.entries(named).filter(([name]) => isOurs(name)));
  return {
    workers: only(workers),
    databases: only(databases),
    namespaces: namespaces.filter(isOurs),
    workflows: only(workflows),
  };
}

/**
 * Puts a worker, a database, a namespace and a workflow of this name there, as somebody else's.
 *
 * @param {string} name
 */
async function settle(name) {
  const { state } = stage.cloud;
  const created_on = new Date(0).toISOString();
  const version = {
    ...{ id: stage.cloud.uuid(), number: 1, created_on, main: "", modules: [], bindings: [] },
    ...{ compatibility_date: "", compatibility_flags: [], annotations: {} },
  };
  state.scripts[name] = {
    ...{
      tag: name,
      created_on,
      versions: [version],
      subdomain: { enabled: true, previews_enabled: false },
    },
    ...{ schedules: [], settings: {}, secretRevisions: {} },
    deployments: [{ id: stage.cloud.uuid(), created_on, version_id: version.id, annotations: {} }],
  };
  const uuid = stage.cloud.uuid();
  state.databases[uuid] = {
    uuid,
    name: `${name}-db`,
    created_at: created_on,
    changes: 0,
    tables: [],
    failuresLeft: 0,
  };
  const id = stage.cloud.uuid();
  state.namespaces[id] = { id, title: `${name}-kv`, keys: {} };
  state.workflows[`${name}-workflow`] = {
    ...{ id: stage.cloud.uuid(), name: `${name}-workflow`, script_name: name, class_name: "Flow" },
    ...{ created_on, instances: {} },
  };
}
