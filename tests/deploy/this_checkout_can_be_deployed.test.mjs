// Rule: what is committed here deploys, the real worker and each of its mocks: wrangler bundles
// them, the cloud takes their bindings, and a second deploy finds nothing that differs.
//
// The stand-in does not run these workers; tests/worker and tests/mocks do.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { readProject } from "../../scripts/lib/cloud/project.mjs";
import { CHECKOUT, SHA, open, shape } from "./stage.mjs";

const isBuilt = fs.existsSync(path.join(CHECKOUT, "build/index.js"));
const unlessBuilt = isBuilt ? {} : { skip: "there is no build/; run `npm run build` first" };

const stage = await open();
after(() => stage.close());

const preview = (/** @type {string} */ command, /** @type {string[]} */ ...args) =>
  stage.run("preview", [
    command,
    "--pr",
    "7",
    "--sha",
    SHA,
    "--project",
    CHECKOUT,
    "--no-build",
    ...args,
  ]);

test("a preview of it is deployed, with every mock that is a Worker", unlessBuilt, async () => {
  const ended = await preview("deploy");
  assert.equal(ended.code, 0, ended.stderr);
  const { workers, databases } = shape(stage.cloud);
  const mocks = readProject(CHECKOUT).mocks.map(({ service }) => `holdfast-pr-7-mock-${service}`);
  assert.ok(mocks.includes("holdfast-pr-7-mock-cloudflare"), mocks.join());
  assert.deepEqual(Object.keys(workers).sort(), ["holdfast-pr-7", ...mocks].sort());
  const worker = workers["holdfast-pr-7"];
  assert.ok(worker?.modules.some(({ type }) => type === "application/wasm"));
  for (const binding of [
    "worker_loader LOADER ",
    "d1 DB holdfast-pr-7-db",
    `plain_text COMMIT_SHA ${SHA}`,
  ]) {
    assert.ok(worker?.bindings.includes(binding), `${binding} is missing`);
  }
  assert.ok(databases["holdfast-pr-7-db"]?.includes("d1_migrations"), "its migrations run");
});

test("deployed again, nothing differs", unlessBuilt, async () => {
  const from = stage.cloud.log.length;
  const ended = await preview("deploy");
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(
    stage.cloud.log.slice(from).filter(({ changed }) => changed),
    [],
    ended.stderr,
  );
});

test("cleaned up, nothing is left, its objects and workflows included", async () => {
  const ended = await preview("cleanup");
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(shape(stage.cloud), {
    workers: {},
    databases: {},
    namespaces: [],
    workflows: {},
  });
  assert.deepEqual(
    stage.cloud.log.filter(({ known }) => !known),
    [],
  );
});

test("a binding that a preview has no copy of is refused, and so is a class of another worker", async (t) => {
  const other = await open();
  t.after(() => other.close());
  const file = path.join(other.project, "wrangler.toml");
  const before = fs.readFileSync(file, "utf8");
  for (const [more, told] of /** @type {[string, RegExp][]} */ ([
    [
      '[[r2_buckets]]\nbinding = "FILES"\nbucket_name = "production"\n',
      /wrangler\.toml says r2_buckets, which a preview/,
    ],
    [
      '[[workflows]]\nbinding = "OTHER"\nname = "x"\nclass_name = "X"\nscript_name = "billing"\n',
      /binds a class of billing/,
    ],
  ])) {
    fs.writeFileSync(file, `${before}\n${more}`);
    const ended = await other.preview("deploy", 7, ["--dry-run"]);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, told);
  }
  fs.writeFileSync(file, `${before}\n[[routes]]\npattern = "holdfast.example/*"\n`);
  const routed = await other.preview("deploy", 7, ["--dry-run"]);
  assert.equal(routed.code, 0, routed.stderr);
});
