// Rule: 429 and 5xx are tried again, 401 and 403 never; a request that was carried out although its
// answer failed, one that was carried out by half, and a list of several pages change no end state.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isWorthRetrying } from "../../scripts/lib/cloud/wrangler.mjs";
import { pauseMs } from "../../scripts/lib/cloud/http.mjs";
import { open, rows, shape, wholePreview } from "./stage.mjs";

const UP = /** @type {[string, string[]][]} */ ([
  ["deploy", []],
  ["seed", []],
  ["check", []],
  ["comment", ["--status", "ready"]],
]);

/** Endpoints that a preview changes something with: what a fault is injected into. */
const CREATE_D1 = "/d1/database$";
const CREATE_KV = "/storage/kv/namespaces$";
const QUERY = "/query$";
const UPLOAD = "/workers/scripts/holdfast-pr-7\\?";
const ADDRESS = "/workers/scripts/holdfast-pr-7/subdomain$";
const SCHEDULES = "/workers/scripts/holdfast-pr-7/schedules$";
const WORKFLOW = "/workflows/holdfast-pr-7-workflow$";
const SECRETS = "/workers/scripts/holdfast-pr-7/secrets$";

/** @type {[string, import("../../mocks/kit/mock.mjs").Fault[], number][]} */
const SCENARIOS = [
  [
    "429 and 5xx before anything was carried out, then 504 after it was",
    [
      { method: "POST", path: CREATE_D1, status: 429, retryAfter: 0 },
      { method: "POST", path: CREATE_D1, status: 504, late: true },
      { method: "POST", path: CREATE_KV, status: 500, times: 2 },
      { method: "POST", path: CREATE_KV, status: 504, late: true },
      { method: "GET", path: "/d1/database\\?", status: 503 },
      { method: "POST", path: QUERY, status: 504, late: true, after: 3 },
      { method: "PUT", path: UPLOAD, status: 500 },
      { method: "PUT", path: UPLOAD, status: 504, late: true },
      { method: "POST", path: ADDRESS, status: 504, late: true },
      { method: "PUT", path: SCHEDULES, status: 500 },
      { method: "PUT", path: WORKFLOW, status: 504, late: true },
      { method: "PUT", path: SECRETS, status: 502 },
      { method: "PUT", path: SECRETS, status: 504, late: true },
    ],
    100,
  ],
  [
    "half-created resources, and lists of one item a page",
    [
      { method: "POST", path: CREATE_D1, status: 500, half: true },
      { method: "PUT", path: UPLOAD, status: 500, half: true },
      { method: "PUT", path: WORKFLOW, status: 500, half: true },
    ],
    1,
  ],
];

describe("a preview comes up and goes away all the same", { concurrency: true }, () => {
  for (const [name, faults, pageSize] of SCENARIOS) {
    test(name, async (t) => {
      const stage = await open();
      t.after(() => stage.close());
      stage.cloud.state.pageSize = pageSize;
      stage.hub.state.pageSize = pageSize;
      for (let other = 100; other < 103; other += 1) {
        const uuid = stage.cloud.uuid();
        const rest = { created_at: "", changes: 0, tables: [], failuresLeft: 0 };
        stage.cloud.state.databases[uuid] = { uuid, name: `holdfast-pr-7${other}-db`, ...rest };
        stage.cloud.state.namespaces[uuid] = {
          id: uuid,
          title: `holdfast-pr-7${other}-cache-kv`,
          keys: {},
        };
      }
      for (const fault of faults) stage.cloud.inject(fault);
      stage.hub.inject({ method: "POST", path: "/comments$", status: 502 });
      for (const [command, args] of UP) {
        const ended = await stage.preview(command, 7, args);
        assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
      }
      const hit = stage.cloud.log.filter(({ fault }) => fault !== undefined).length;
      assert.equal(
        hit,
        faults.reduce((sum, { times = 1 }) => sum + times, 0),
        "every fault was hit",
      );
      const { databases, namespaces, ...rest } = shape(stage.cloud);
      assert.deepEqual(
        {
          ...rest,
          databases: { "holdfast-pr-7-db": databases["holdfast-pr-7-db"] },
          namespaces: namespaces.filter((title) => title.startsWith("holdfast-pr-7-")),
        },
        wholePreview(stage.env),
      );
      assert.equal((await rows(stage.cloud, "holdfast-pr-7-db", "SELECT id FROM runs")).length, 2);
      assert.equal(stage.hub.state.comments.length, 1);

      stage.cloud.inject({ method: "DELETE", path: UPLOAD, status: 504, late: true });
      stage.cloud.inject({
        method: "DELETE",
        path: WORKFLOW,
        status: 429,
        retryAfter: 0,
        times: 2,
      });
      stage.cloud.inject({
        method: "DELETE",
        path: "/d1/database/",
        status: 500,
        late: true,
        times: 2,
      });
      const cleaned = await stage.preview("cleanup", 7);
      assert.equal(cleaned.code, 0, cleaned.stderr);
      assert.deepEqual(cleaned.result.failures, []);
      const after = shape(stage.cloud);
      assert.deepEqual([after.workers, after.workflows], [{}, {}]);
      assert.equal(Object.keys(after.databases).length, 3, "the others' are there");
      assert.equal(after.namespaces.length, 3, "the others' are there");
    });
  }
});

test("a refused token ends a command at the first request", async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  for (const status of [401, 403]) {
    stage.cloud.inject({ path: "/d1/database", status });
    const before = stage.cloud.log.length;
    const ended = await stage.preview("ensure", 7);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, new RegExp(`${status} \\[code: 10000\\]`));
    const asked = stage.cloud.log.slice(before).filter(({ path }) => path.includes("/d1/database"));
    assert.equal(asked.length, 1);
  }
});

test("a failure that stays is told after the tries, with the request that failed", async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  stage.cloud.inject({ method: "POST", path: "/d1/database$", status: 500, times: 99 });
  const ended = await stage.preview("ensure", 7);
  assert.equal(ended.code, 1);
  assert.equal(ended.stdout, "");
  assert.match(ended.stderr, /error: POST \S+\/d1\/database: 500 \[code: 10001\]/);
  assert.equal(stage.cloud.log.filter(({ method }) => method === "POST").length, 5);
});

test("wrangler is run again when the API failed, and not when it refused", () => {
  const failed = "A request to the Cloudflare API (/accounts/a/workers) failed.";
  for (const [output, expected] of /** @type {[string, boolean][]} */ ([
    [`${failed}\n  internal error [code: 10001]`, true],
    ["TypeError: fetch failed", true],
    ["Received a malformed response from the API", true],
    [`${failed}\n  Authentication error [code: 10000]`, false],
    [`${failed}\n  binding LOADER of type worker_loader is invalid [code: 10021]`, false],
    [`${failed}\n  near "CRATE": syntax error: SQLITE_ERROR [code: 7500]`, false],
    ["Build failed with 1 error", false],
  ])) {
    assert.equal(isWorthRetrying(output), expected, output);
  }
});

test("a pause grows, keeps to Retry-After, and is not made when that is too long", () => {
  const before = process.env.HOLDFAST_RETRY_MS;
  delete process.env.HOLDFAST_RETRY_MS;
  assert.equal(pauseMs(1, null, 0), 1_000);
  assert.equal(pauseMs(4, null, 0), 8_000);
  assert.equal(pauseMs(1, "7", 0), 7_000);
  assert.equal(pauseMs(4, "1", 0), 8_000);
  assert.equal(pauseMs(1, "60", 0), 60_000);
  assert.equal(pauseMs(1, "61", 0), undefined);
  assert.equal(pauseMs(1, "Wed, 21 Oct 2026 07:28:00 GMT", 0), 1_000);
  if (before !== undefined) process.env.HOLDFAST_RETRY_MS = before;
});
