// Rule: `npm run deploy` brings production up from nothing, changes nothing when said again, leaves
// what it did not make, and says plainly what only a person can mend.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { ACCOUNT } from "../../mocks/cloudflare/api.mjs";
import { OTHER_SHA, SHA, open, rows, shape } from "./stage.mjs";

const stage = await open();
after(() => stage.close());

test("a dry run says what it would do, and does nothing", async () => {
  const before = JSON.stringify(stage.cloud.snapshot());
  const ended = await stage.deploy(["--dry-run"]);
  assert.equal(ended.code, 0, ended.stderr);
  for (const told of [
    "would create the D1 database holdfast-db",
    "0001_runs.sql",
    "would deploy holdfast ",
  ]) {
    assert.ok(ended.stderr.includes(told), ended.stderr);
  }
  assert.equal(JSON.stringify(stage.cloud.snapshot()), before);
  assert.deepEqual(
    stage.cloud.log.filter(({ method }) => method !== "GET"),
    [],
  );
});

test("from nothing, one command brings it up", async () => {
  const ended = await stage.deploy([], {
    env: { HOLDFAST_ADMIN_TOKEN: "a token of the operator's own" },
  });
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(ended.result.url, `${stage.env.WORKERS_DEV_URL?.replace("{name}", "holdfast")}`);
  assert.match(ended.stderr, /Holdfast 111111111111 answers at http/);
  const { workers, databases, workflows } = shape(stage.cloud);
  assert.deepEqual(Object.keys(workers), ["holdfast"], "no mock is part of production");
  assert.deepEqual(Object.keys(databases), ["holdfast-db"]);
  assert.deepEqual(workflows, { "holdfast-workflows": "holdfast Flow" });
  assert.equal(secret("HOLDFAST_ADMIN_TOKEN"), "a token of the operator's own");
  assert.ok(!(ended.stdout + ended.stderr).includes("a token of the operator's own"));
  assert.ok(
    !fs.readFileSync(path.join(stage.project, "wrangler.toml"), "utf8").includes("00000001"),
  );
});

test("a second time it changes nothing", async () => {
  const from = stage.cloud.log.length;
  const ended = await stage.deploy([], { env: { HOLDFAST_ADMIN_TOKEN: "another token" } });
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(ended.result.changed, false);
  assert.deepEqual(
    stage.cloud.log.slice(from).filter(({ changed }) => changed),
    [],
  );
});

test("an upgrade applies what is pending and keeps rows, secrets and the dashboard's secrets", async () => {
  const keys = [secret("HOLDFAST_SIGNING_KEY"), secret("HOLDFAST_SECRETS_KEY")];
  const id = Object.values(stage.cloud.state.databases)[0]?.uuid ?? "";
  await stage.cloud.platform.query(id, [
    { sql: "INSERT INTO runs VALUES ('kept', 'x')", params: [] },
  ]);
  stage.cloud
    .live("holdfast")
    ?.bindings.push({ type: "secret_text", name: "OPERATORS_OWN", text: "x" });
  fs.writeFileSync(
    path.join(stage.project, "migrations/0003_more.sql"),
    "CREATE TABLE more (id TEXT) STRICT;\nCREATE TRIGGER t AFTER INSERT ON more BEGIN SELECT 1; SELECT 2; END;\n",
  );
  const ended = await stage.deploy(["--sha", OTHER_SHA]);
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(ended.result.migrations, ["0003_more.sql"]);
  assert.deepEqual(await rows(stage.cloud, "holdfast-db", "SELECT id FROM runs"), [{ id: "kept" }]);
  assert.deepEqual([secret("HOLDFAST_SIGNING_KEY"), secret("HOLDFAST_SECRETS_KEY")], keys);
  assert.equal(secret("OPERATORS_OWN"), "x");
});

test("a migration that fails stops the deploy before the worker, and is not half applied", async () => {
  const file = path.join(stage.project, "migrations/0004_bad.sql");
  fs.writeFileSync(file, "CREATE TABLE half (id TEXT) STRICT;\nCRATE TABLE bad (id TEXT);\n");
  const ended = await stage.deploy(["--sha", SHA]);
  fs.rmSync(file);
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /syntax error/);
  assert.ok(!shape(stage.cloud).databases["holdfast-db"]?.includes("half"));
  const sha = stage.cloud
    .live("holdfast")
    ?.bindings.find(({ name }) => name === "COMMIT_SHA")?.text;
  assert.equal(sha, OTHER_SHA);
});

test("a worker that answers with another commit is not taken for deployed", async () => {
  const live = stage.cloud.live("holdfast");
  const variable = live?.bindings.find(({ name }) => name === "COMMIT_SHA");
  const real = stage.cloud.platform.run;
  stage.cloud.platform.run = async () => Response.json({ ok: true, commitSha: "stale" });
  const ended = await stage.deploy(["--sha", String(variable?.text)]);
  stage.cloud.platform.run = real;
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /it answers with commit stale, wanted is 2222\S+ \(asked 30 times\)/);
});

test("a plan without Worker Loader is named, with what to do", async (t) => {
  const free = await open();
  t.after(() => free.close());
  free.cloud.state.plan = "free";
  fs.rmSync(path.join(free.project, "migrations"), { recursive: true });
  const ended = await free.deploy();
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /error: .*plan has no Worker Loader.*Workers Paid/);
  const uploads = free.cloud.log.filter(
    ({ method, path: at }) => method === "PUT" && at.includes("/scripts/"),
  );
  assert.equal(uploads.length, 1, "a plan does not change by trying again");
});

test("an account without a workers.dev name, several accounts, no token: each is named", async (t) => {
  const bare = await open();
  t.after(() => bare.close());
  bare.cloud.state.subdomain = null;
  const nameless = await bare.deploy([], { env: { WORKERS_DEV_URL: "" } });
  assert.equal(nameless.code, 1);
  assert.match(nameless.stderr, /error: The account has no workers\.dev name yet/);
  bare.cloud.state.accounts = 2;
  const torn = await bare.deploy();
  assert.equal(torn.code, 1);
  assert.match(
    torn.stderr,
    /error: CLOUDFLARE_ACCOUNT_ID is not set, and the token reaches 2 accounts: Stand-in/,
  );
  const chosen = await bare.deploy(["--dry-run"], { env: { CLOUDFLARE_ACCOUNT_ID: ACCOUNT } });
  assert.equal(chosen.code, 0, chosen.stderr);
  const tokenless = await bare.deploy([], { env: { CLOUDFLARE_API_TOKEN: "" } });
  assert.equal(tokenless.code, 1);
  assert.match(tokenless.stderr, /error: CLOUDFLARE_API_TOKEN is not set/);
});

test("production's private files are gone", () => {
  assert.deepEqual(fs.readdirSync(path.join(stage.project, ".holdfast/deploy")), []);
});

/** @param {string} name */
function secret(name) {
  return stage.cloud.live("holdfast")?.bindings.find((one) => one.name === name)?.text;
}
