// Rule: a cleanup goes on past single failures, tells what is left, never tries again what is
// refused, and takes what an older version made; a sweep takes the previews that nobody has open.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { open, shape } from "./stage.mjs";

const stage = await open();
after(() => stage.close());
beforeEach(() => {
  stage.cloud.clear();
  stage.hub.clear();
});

test("a failure does not keep the rest from being removed, and is told", async () => {
  place(7, 8);
  stage.cloud.inject({ method: "DELETE", path: "/workflows/", status: 500, times: 99 });
  const ended = await stage.preview("cleanup", 7);
  assert.equal(ended.code, 1);
  assert.deepEqual(ended.result.left, ["workflow:holdfast-pr-7-workflow"]);
  assert.equal(ended.result.failures.length, 1);
  assert.match(ended.result.failures[0].why, /500/);
  const { databases, namespaces, workflows } = shape(stage.cloud);
  assert.deepEqual(Object.keys(databases), ["holdfast-pr-8-db"]);
  assert.deepEqual(namespaces, ["holdfast-pr-8-cache-kv"]);
  assert.deepEqual(Object.keys(workflows), ["holdfast-pr-7-workflow", "holdfast-pr-8-workflow"]);
});

test("a refused removal is not tried again, and the rest is removed", async () => {
  place(7);
  stage.cloud.inject({ method: "DELETE", path: "/d1/database/", status: 403, times: 99 });
  const ended = await stage.preview("cleanup", 7);
  assert.equal(ended.code, 1);
  assert.deepEqual(ended.result.left, ["d1:holdfast-pr-7-db"]);
  const tries = stage.cloud.log.filter(
    ({ method, path }) => method === "DELETE" && path.includes("/d1/"),
  );
  assert.equal(tries.length, 1);
  assert.deepEqual(shape(stage.cloud).namespaces, []);
});

test("a list that cannot be read is a failure, not an empty list", async () => {
  place(7);
  stage.cloud.inject({ method: "GET", path: "/storage/kv/namespaces", status: 403, times: 99 });
  const ended = await stage.preview("cleanup", 7);
  assert.equal(ended.code, 1);
  assert.match(JSON.stringify(ended.result.failures), /list of kv/);
  assert.deepEqual(Object.keys(shape(stage.cloud).databases), []);
});

test("what only an older version made is removed as well", async () => {
  place(7);
  database("holdfast-pr-7-journal-db");
  stage.cloud.state.namespaces.old = { id: "old", title: "holdfast-pr-7-sessions", keys: {} };
  const ended = await stage.preview("cleanup", 7);
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(shape(stage.cloud), {
    workers: {},
    databases: {},
    namespaces: [],
    workflows: {},
  });
});

test("a dry run tells what it would remove, and removes nothing", async () => {
  place(7);
  const before = JSON.stringify(stage.cloud.snapshot());
  const ended = await stage.preview("cleanup", 7, ["--dry-run"]);
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(ended.result.found.length, 3);
  assert.deepEqual(ended.result.removed, []);
  assert.equal(JSON.stringify(stage.cloud.snapshot()), before);
});

test("a sweep removes the previews of pull requests that are not open, on any page", async () => {
  place(7, 8, 9, 71);
  database("holdfast-db");
  stage.cloud.state.pageSize = 1;
  stage.hub.state.pageSize = 1;
  Object.assign(stage.hub.state.pulls, { 7: "closed", 8: "open", 71: "open" });
  const ended = await stage.run("preview", ["sweep", "--project", stage.project]);
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(ended.result.open, [8, 71]);
  assert.deepEqual(Object.keys(shape(stage.cloud).databases), [
    "holdfast-db",
    "holdfast-pr-71-db",
    "holdfast-pr-8-db",
  ]);
});

test("a sweep that cannot ask which are open removes nothing", async () => {
  place(7);
  stage.hub.inject({ path: "/pulls", status: 403, times: 99 });
  const ended = await stage.run("preview", ["sweep", "--project", stage.project]);
  assert.equal(ended.code, 1);
  assert.deepEqual(Object.keys(shape(stage.cloud).databases), ["holdfast-pr-7-db"]);
});

test("without a token it fails and says which is missing", async () => {
  place(7);
  for (const name of ["CLOUDFLARE_API_TOKEN"]) {
    const ended = await stage.preview("cleanup", 7, [], { env: { [name]: "" } });
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, new RegExp(`error: ${name} is not set`));
  }
});

/** @param {number[]} prs */
function place(...prs) {
  for (const pr of prs) {
    database(`holdfast-pr-${pr}-db`);
    const id = stage.cloud.uuid();
    stage.cloud.state.namespaces[id] = { id, title: `holdfast-pr-${pr}-cache-kv`, keys: {} };
    const name = `holdfast-pr-${pr}-workflow`;
    const rest = {
      script_name: `holdfast-pr-${pr}`,
      class_name: "Flow",
      created_on: "",
      instances: {},
    };
    stage.cloud.state.workflows[name] = { id, name, ...rest };
  }
}

/** @param {string} name */
function database(name) {
  const uuid = stage.cloud.uuid();
  stage.cloud.state.databases[uuid] = {
    uuid,
    name,
    created_at: "",
    changes: 0,
    tables: [],
    failuresLeft: 0,
  };
}
