// Rule: a program's parameters are whatever JSON was sent, null included; the empty object stands
// in for none alone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

const VALUES = [null, false, true, 0, -1.5, "", "x", [], [null], {}, { a: null }];

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
  const modules = { "index.js": "export const seen = (given) => ({ given, params });" };
  const saved = await w.json("/v1/packages/echo", { modules }, { method: "PUT" });
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
});
after(() => w.stop());

test("a program", async () => {
  for (const params of VALUES) {
    const run = await w.execute({ code: "return [params];", params });
    assert.deepEqual(run.result, [params], run.error);
  }
  assert.deepEqual((await w.execute({ code: "return [params];" })).result, [{}]);
});

test("an export", async () => {
  const invoke = async (/** @type {object} */ body) => {
    const { body: run } = await w.json("/v1/packages/echo/seen", body);
    return run.result;
  };
  for (const params of VALUES) {
    assert.deepEqual(await invoke({ params }), { given: params, params });
  }
  assert.deepEqual(await invoke({}), { given: {}, params: {} });
});

test("an export that a program invokes", async () => {
  const code = `const seen = [];
    for (const one of params) seen.push((await packages.invoke("echo/seen", one)).given);
    seen.push((await packages.invoke("echo/seen")).given);
    return seen;`;
  const run = await w.execute({ code, params: VALUES });
  assert.deepEqual(run.result, [...VALUES, {}], run.error);
});

test("under a key, null is another request than none", async () => {
  const post = (/** @type {object} */ body) =>
    w.json("/v1/runs", body, { headers: { "idempotency-key": "k" } });
  assert.equal((await post({ code: "return params;", params: null })).status, 200);
  assert.equal((await post({ code: "return params;", params: null })).status, 200);
  assert.equal((await post({ code: "return params;" })).status, 422);
});
