// Rule: a package is prepared once, when it is saved; its versions never change, its name points at
// one; an export is invoked by name from every surface, its parameters held against its schema
// before anything runs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

const put = (/** @type {string} */ name, /** @type {unknown} */ body) =>
  w.json(`/v1/packages/${name}`, body, { method: "PUT" });
const invoke = (/** @type {string} */ target, /** @type {unknown} */ params, init = {}) =>
  w.json(`/v1/packages/${target}`, { params }, init);

const MATH = {
  description: "Sums.",
  modules: {
    "index.ts": `import { plus } from "./lib/plus";
export function add({ a, b }: { a: number; b: number }) { return plus(a, b); }
export async function slow() { await sleep(50); return run.surface; }
export const boom = () => { throw new RangeError("too far"); };
export const wrong = () => "text";`,
    "lib/plus.ts": "export const plus = (a: number, b: number): number => a + b;",
  },
  exports: {
    add: {
      description: "Adds.",
      params: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
        additionalProperties: false,
      },
      result: { type: "number" },
    },
    wrong: { result: { type: "number" } },
  },
};

test("an export is invoked by name, with its own surface and budget", async () => {
  const saved = await put("math", MATH);
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  assert.equal(saved.body.version, 1);
  assert.deepEqual(Object.keys(saved.body.exports).sort(), ["add", "boom", "slow", "wrong"]);
  const { body } = await invoke("math/add", { a: 40, b: 2 });
  assert.equal(body.result, 42, JSON.stringify(body));
  assert.equal(body.surface, "invocation");
  assert.equal((await invoke("math/slow", {})).body.result, "invocation");
  const [row] = await w.d1("SELECT budget_ms, surface FROM runs WHERE id = ?", body.id);
  assert.deepEqual(row, { budget_ms: 300_000, surface: "invocation" });
  assert.equal((await w.json(`/v1/runs/${body.id}`)).body.result, 42);
});

test("parameters that do not fit are refused with their path, and nothing runs", async () => {
  const before = (await w.d1("SELECT COUNT(*) AS n FROM runs"))[0].n;
  const { status, body } = await invoke("math/add", { a: "1", c: 2 });
  assert.equal(status, 400);
  assert.equal(body.error.code, "HF_E1002");
  assert.deepEqual(body.error.problems.map((/** @type {any} */ problem) => problem.path).sort(), [
    "params.a",
    "params.b",
    "params.c",
  ]);
  assert.equal((await w.d1("SELECT COUNT(*) AS n FROM runs"))[0].n, before);
});

test("a failure and a result that does not fit are outcomes", async () => {
  const boom = (await invoke("math/boom", {})).body;
  assert.equal(boom.status, "failed");
  assert.match(boom.error, /RangeError: too far/);
  const wrong = (await invoke("math/wrong", {})).body;
  assert.equal(wrong.status, "failed");
  assert.match(wrong.error, /result must be a number/);
});

test("what only the engine refuses is told at its place", async () => {
  const modules = {
    "index.js": 'import { a } from "./a"; export const go = () => a;',
    "a.js": "export const a = 1;\nlet twice;\nlet twice;",
  };
  const saved = await put("engine", { modules });
  if (saved.status === 400) {
    assert.deepEqual([saved.body.error.file, saved.body.error.line], ["a.js", 3]);
    return;
  }
  for (let i = 0; i < 2; i++) {
    const { body } = await invoke("engine/go", {});
    assert.equal(body.errorDetails.code, "HF_E1304", JSON.stringify(body));
    assert.deepEqual([body.errorDetails.file, body.errorDetails.line], ["a.js", 3]);
  }
});

test("what does not exist is told apart", async () => {
  const cases = [
    ["none/add", "HF_E1013"],
    ["math/none", "HF_E1014"],
    ["a%20b/add", "HF_E1013"],
  ];
  for (const [target, code] of cases) {
    const { status, body } = await invoke(target ?? "", {});
    assert.deepEqual([status, body.error.code], [404, code], target);
  }
  const version = await w.json("/v1/packages/math/add", { params: { a: 1, b: 1 }, version: 9 });
  assert.equal(version.body.error.code, "HF_E1014");
  assert.equal((await w.json("/v1/packages/none")).body.error.code, "HF_E1013");
});

test("a version is immutable, and the name is rolled back and forth", async () => {
  const version = (/** @type {number} */ n) => ({
    modules: { "a.js": `export default () => ${n}` },
  });
  await put("roll", version(1));
  const second = await put("roll", version(2));
  assert.equal(second.body.version, 2);
  assert.equal((await invoke("roll/default", {})).body.result, 2);
  const back = await w.json("/v1/packages/roll/version", { version: 1 }, { method: "PUT" });
  assert.deepEqual([back.body.version, back.body.current], [1, true]);
  assert.equal((await invoke("roll/default", {})).body.result, 1);
  const named = await w.json("/v1/packages/roll/default", { version: 2 });
  assert.equal(named.body.result, 2);
  assert.equal((await put("roll", version(3))).body.version, 3);
  const { versions } = (await w.json("/v1/packages/roll/versions")).body;
  assert.deepEqual(
    versions.map((/** @type {any} */ one) => [one.version, one.current]),
    [
      [3, true],
      [2, false],
      [1, false],
    ],
  );
  const none = await w.json("/v1/packages/roll/version", { version: 8 }, { method: "PUT" });
  assert.equal(none.body.error.code, "HF_E1014");
  const shown = (await w.json("/v1/packages/roll?version=1")).body;
  assert.deepEqual(shown.modules, version(1).modules);
});

test("a deleted package is gone, and its numbers are not used again", async () => {
  await put("gone", { modules: { "a.js": "export default () => 1" } });
  assert.equal((await w.json("/v1/packages/gone", undefined, { method: "DELETE" })).status, 200);
  for (const place of ["/v1/packages/gone", "/v1/packages/gone/versions"]) {
    assert.equal((await w.json(place)).body.error.code, "HF_E1013");
  }
  assert.equal((await invoke("gone/default", {})).status, 404);
  assert.equal((await w.json("/v1/packages/gone", undefined, { method: "DELETE" })).status, 404);
  const again = await put("gone", { modules: { "a.js": "export default () => 2" } });
  assert.equal(again.body.version, 2);
});

test("packages are listed by name, in pages", async () => {
  const names = [];
  let cursor = "";
  for (let page = 0; page < 20; page++) {
    const { body } = await w.json(`/v1/packages?limit=2${cursor}`);
    names.push(...body.packages.map((/** @type {any} */ one) => one.name));
    if (body.nextCursor === undefined) break;
    cursor = `&cursor=${body.nextCursor}`;
  }
  assert.deepEqual(names, [...names].sort());
  assert.ok(names.includes("math") && names.includes("roll"));
});

test("bad packages are refused at their place and nothing is stored", async () => {
  const bad = /** @type {[Record<string, unknown>, RegExp, Record<string, unknown>][]} */ ([
    [{ modules: {} }, /at least one module/, {}],
    [
      { modules: { "index.js": "export const a = 1;\nexport const b = ;" } },
      /index\.js/,
      { file: "index.js", line: 2 },
    ],
    [{ modules: { "index.js": 'import "./none"; export const a = 1' } }, /none/, { line: 1 }],
    [
      {
        modules: {
          "index.js": 'import { b } from "./b"; export const a = b;',
          "b.js": 'import { a } from "./index"; export const b = a;',
        },
      },
      /circle/,
      {},
    ],
    [{ modules: { "a.js": "const a = 1" } }, /nothing/, { field: "modules" }],
    [
      { modules: { "a.js": "export const a = 1" }, exports: { b: {} } },
      /no export/,
      { field: "exports.b" },
    ],
    [
      { modules: { "a.js": "export const a = 1" }, exports: { a: { params: { type: "text" } } } },
      /must be of/,
      { field: "exports.a.params.type" },
    ],
    [{ modules: { "a.js": "export const a = 1" }, budgetMs: 300_001 }, /300000/, {}],
  ]);
  for (const [body, words, fields] of bad) {
    const answer = await put("bad", body);
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.match(answer.body.error.message, words);
    for (const [name, value] of Object.entries(fields)) {
      assert.equal(answer.body.error[name], value, JSON.stringify(answer.body.error));
    }
  }
  const large = await put("bad", {
    modules: { "a.js": `export const a = "${"x".repeat(262_144)}"` },
  });
  assert.equal(large.status, 413);
  assert.deepEqual(await w.d1("SELECT * FROM packages WHERE name = 'bad'"), []);
  assert.deepEqual(await w.d1("SELECT * FROM package_texts WHERE name = 'bad'"), []);
});

test("a token reaches the packages and exports of its scopes, of its principal", async () => {
  const token = async (/** @type {string[]} */ scopes, principal = "admin") =>
    (await w.json("/v1/tokens", { label: "t", scopes, principal })).body.token;
  const params = { a: 1, b: 2 };
  const only = await token(["invoke:math/add"]);
  assert.equal((await invoke("math/add", params, { token: only })).status, 200);
  const other = await invoke("math/slow", {}, { token: only });
  assert.deepEqual([other.status, other.body.error.code], [403, "HF_E1503"]);
  assert.equal((await invoke("roll/default", {}, { token: only })).status, 403);
  const whole = await token(["invoke:math"]);
  assert.equal((await invoke("math/slow", {}, { token: whole })).status, 200);
  assert.equal((await put("math2", MATH)).status, 201);
  assert.equal((await invoke("math2/add", params, { token: whole })).status, 403);
  const ben = await token(["invoke:math", "packages"], "ben");
  assert.equal((await invoke("math/add", params, { token: ben })).status, 404);
  assert.deepEqual((await w.json("/v1/packages", undefined, { token: ben })).body.packages, []);
});

test("a key is kept for an invocation, across a roll-out too", async () => {
  await put("keyed", { modules: { "a.js": "export const r = () => ['one', Math.random()]" } });
  const init = { headers: { "idempotency-key": "p1" } };
  const first = await invoke("keyed/r", {}, init);
  await put("keyed", { modules: { "a.js": "export const r = () => ['two', Math.random()]" } });
  const again = await invoke("keyed/r", {}, init);
  assert.deepEqual(again.body, first.body);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal((await invoke("keyed/r", { x: 1 }, init)).status, 422);
  assert.equal((await invoke("keyed/r", {})).body.result[0], "two");
});

test("MCP lists and invokes", async () => {
  const call = async (/** @type {string} */ name, /** @type {unknown} */ args) => {
    const { body } = await w.json(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
      { headers: { accept: "application/json, text/event-stream" } },
    );
    return body.result;
  };
  const listed = await call("package_list", {});
  const math = listed.structuredContent.packages.find((/** @type {any} */ p) => p.name === "math");
  assert.equal(math.exports.add.params.required.length, 2);
  const invoked = await call("package_invoke", { name: "math/add", params: { a: 1, b: 2 } });
  assert.equal(invoked.structuredContent.result, 3);
  const keyed = { name: "math/add", params: { a: 1, b: 2 }, idempotencyKey: "pm" };
  await call("package_invoke", keyed);
  assert.equal((await call("package_invoke", keyed))._meta["holdfast/replayed"], true);
  const bad = await call("package_invoke", { name: "math/add", params: {} });
  assert.equal(bad.isError, true);
  assert.equal(bad.structuredContent.errorDetails.field, "params.a");
});
