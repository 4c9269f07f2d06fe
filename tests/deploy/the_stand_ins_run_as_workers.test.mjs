// Rule: a stand-in is a Worker too: bundled as wrangler bundles it and run in workerd, it answers
// the real wrangler as it does in node, keeps its state in objects, one for each token, and shows
// nothing to whoever lacks the token.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import * as esbuild from "esbuild";
import { Miniflare } from "miniflare";
import { parse } from "smol-toml";
import { CHECKOUT } from "./stage.mjs";

/** @type {(() => unknown)[]} */
const closing = [];
after(async () => {
  for (const close of closing) await close();
});

const MARKUP = "<script>alert(1)</script>";

test("the real wrangler deploys to Cloudflare's stand-in in workerd", async () => {
  const url = await start("cloudflare");
  const created = await api(url, "POST", "/d1/database", { name: "holdfast-db" });
  assert.equal(created.status, 200);
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-stand-in-"));
  closing.push(() => fs.rmSync(dir, { recursive: true }));
  fs.cpSync(path.join(CHECKOUT, "tests/deploy/fixture"), dir, { recursive: true });
  const config = path.join(dir, "wrangler.json");
  const database = {
    binding: "DB",
    database_name: "holdfast-db",
    database_id: created.result.uuid,
  };
  fs.writeFileSync(
    config,
    JSON.stringify({
      name: "holdfast",
      main: "worker.mjs",
      no_bundle: true,
      find_additional_modules: false,
      compatibility_date: "2026-08-01",
      vars: { COMMIT_SHA: "abc" },
      d1_databases: [{ ...database, migrations_dir: "migrations" }],
      workers_dev: true,
    }),
  );
  for (const args of [["d1", "migrations", "apply", "DB", "--remote"], ["deploy"]]) {
    const { code, output } = await wrangler([...args, "--config", config], url);
    assert.equal(code, 0, output);
  }
  const id = created.result.uuid;
  const query = { sql: "SELECT name FROM d1_migrations; SELECT text FROM notes", params: [] };
  const queried = await api(url, "POST", `/d1/database/${id}/query`, query);
  assert.deepEqual(
    queried.result.map((/** @type {any} */ one) => one.results),
    [[{ name: "0001_runs.sql" }, { name: "0002_notes.sql" }], []],
  );
  const failing = { sql: "INSERT INTO runs VALUES ('a', 'b'); CRATE", params: [] };
  assert.equal((await api(url, "POST", `/d1/database/${id}/query`, failing)).status, 400);
  const none = await api(url, "POST", `/d1/database/${id}/query`, { sql: "SELECT * FROM runs" });
  assert.deepEqual(none.result[0].results, [], "a failed batch is undone");
  const health = await fetch(`${url}/__workers/holdfast/health`, {
    headers: { authorization: "Bearer t" },
  });
  assert.deepEqual(await health.json(), { ok: true, version: "stand-in", commitSha: "abc" });
  const state = await (
    await fetch(`${url}/__mocks/state`, { headers: { authorization: "Bearer other" } })
  ).json();
  assert.deepEqual(state.scripts, {}, "another token has another state");
});

test("its page shows what it was asked, as text", async () => {
  const url = await start("cloudflare");
  await fetch(`${url}/client/v4/${MARKUP}?${MARKUP}`, { headers: { authorization: "Bearer t" } });
  await api(url, "POST", "/storage/kv/namespaces", { title: MARKUP });
  const home = await fetch(url, { redirect: "manual" });
  assert.equal(home.headers.get("location"), `${url}/__mocks`);
  const page = await fetch(`${url}/__mocks`, { headers: { "x-mocks-token": "t" } });
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  const html = await page.text();
  assert.ok(!html.includes("<script"));
  assert.match(html, /&lt;script&gt;alert\(1\)/);
  assert.match(html, /KV namespaces: <strong>1</);
  const meta = await (await fetch(`${url}/__mocks/meta?mocks_token=t`)).json();
  assert.deepEqual([meta.requests, meta.counters["KV namespaces"]], [2, 1]);
  const messages = await (
    await fetch(`${url}/__mocks/messages`, { headers: { cookie: "mocks_token=t" } })
  ).json();
  assert.deepEqual(
    messages.messages.map((/** @type {any} */ { known, status }) => [known, status]),
    [
      [false, 404],
      [true, 200],
    ],
  );
  await fetch(`${url}/__mocks/clear`, { method: "POST", headers: { "x-mocks-token": "t" } });
  const cleared = await (
    await fetch(`${url}/__mocks/meta`, { headers: { "x-mocks-token": "t" } })
  ).json();
  assert.equal(cleared.counters["KV namespaces"], 0);
});

test("with a token configured, only who has it is let in", async () => {
  const url = await start("github", { MOCKS_TOKEN: "right" });
  const at = `${url}/repos/o/r/issues/1/comments`;
  const post = { method: "POST", body: JSON.stringify({ body: "hello" }) };
  for (const headers of /** @type {Record<string, string>[]} */ ([
    {},
    { authorization: "Bearer wrong" },
    { cookie: "mocks_token=" },
  ])) {
    assert.equal((await fetch(at, { ...post, headers })).status, 401);
    assert.equal((await fetch(`${url}/__mocks`, { headers })).status, 401);
    const meta = await (await fetch(`${url}/__mocks/meta`, { headers })).json();
    assert.deepEqual(meta, { authorized: false });
  }
  assert.equal(
    (await fetch(at, { ...post, headers: { authorization: "Bearer right" } })).status,
    201,
  );
  const meta = await (await fetch(`${url}/__mocks/meta?mocks_token=right`)).json();
  assert.equal(meta.counters.comments, 1);
});

/**
 * @param {string} service
 * @param {Record<string, string>} [variables]
 * @returns {Promise<string>}
 */
async function start(service, variables = {}) {
  const dir = path.join(CHECKOUT, "mocks", service);
  const config = /** @type {any} */ (
    parse(fs.readFileSync(path.join(dir, "wrangler.toml"), "utf8"))
  );
  const built = await esbuild.build({
    entryPoints: [path.join(dir, config.main)],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  /** @type {[string, string][]} Binding and class. */
  const classes = config.durable_objects.bindings.map((/** @type {any} */ { name, class_name }) => [
    name,
    class_name,
  ]);
  const mf = new Miniflare({
    workers: [
      {
        config: {
          name: service,
          compatibilityDate: config.compatibility_date,
          manifest: {
            mainModule: "worker.mjs",
            modules: { "worker.mjs": { type: "esm", contents: built.outputFiles[0]?.text ?? "" } },
          },
          env: {
            ...Object.fromEntries(
              classes.map(([binding, exportName]) => [
                binding,
                { type: "durable-object", exportName, worker: service },
              ]),
            ),
            ...Object.fromEntries(
              Object.entries(variables).map(([name, value]) => [name, { type: "text", value }]),
            ),
          },
          exports: Object.fromEntries(
            classes.map(([, name]) => [name, { type: "durable-object", storage: "sqlite" }]),
          ),
        },
      },
    ],
  });
  closing.push(() => mf.dispose());
  return (await mf.ready).href.replace(/\/$/, "");
}

/**
 * @param {string} url
 * @param {string} method
 * @param {string} at
 * @param {unknown} body
 */
async function api(url, method, at, body) {
  const response = await fetch(`${url}/client/v4/accounts/00000000000000000000000000000acc${at}`, {
    method,
    headers: { authorization: "Bearer t", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, result: /** @type {any} */ (await response.json()).result };
}

/**
 * @param {string[]} args
 * @param {string} url
 * @returns {Promise<{code: number | null, output: string}>}
 */
function wrangler(args, url) {
  const manifest = createRequire(import.meta.url).resolve("wrangler/package.json");
  const bin = path.join(path.dirname(manifest), "bin/wrangler.js");
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [bin, ...args], {
      env: {
        HOME: process.env.HOME,
        PATH: process.env.PATH,
        CI: "true",
        CLOUDFLARE_ACCOUNT_ID: "00000000000000000000000000000acc",
        CLOUDFLARE_API_BASE_URL: `${url}/client/v4`,
        CLOUDFLARE_API_TOKEN: "t",
        CLOUDFLARE_CF_FETCH_ENABLED: "false",
        WRANGLER_HIDE_BANNER: "true",
        WRANGLER_LOG_PATH: path.join(path.dirname(args.at(-1) ?? ""), "log"),
        WRANGLER_SEND_ERROR_REPORTS: "false",
        WRANGLER_SEND_METRICS: "false",
      },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (output += text));
    }
    child.once("close", (code) => resolve({ code, output }));
  });
}
