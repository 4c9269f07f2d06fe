// Rule: an isolate remembers packages, and yet no run begins of a version that its name has left, wherever it
// was moved: nothing is refused, and nothing run, by what is only remembered.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {import("./harness.mjs").Client} One that remembers, and another by which the package is changed. */
let here, there;
before(async () => {
  w = await start({ copies: 2 });
  [here, there] = /** @type {[typeof here, typeof there]} */ (w.copies);
});
after(() => w.stop());

/** @param {string} name @param {string} code @param {Record<string, unknown>} [more] */
async function save(name, code, more = {}) {
  const saved = await there.json(
    `/v1/packages/${name}`,
    { modules: { "a.js": code }, ...more },
    { method: "PUT" },
  );
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
}

/** @param {string} name @param {Record<string, unknown>} [invocation] @param {Record<string, string>} [headers] */
async function invoke(name, invocation = {}, headers = {}) {
  const { status, body } = await here.json(`/v1/packages/${name}/one`, invocation, { headers });
  return status === 200 ? body.result : `${status} ${body.error?.code}`;
}

test("another version, the one before, none", async () => {
  await save("moves", "export const one = () => 1;");
  assert.equal(await invoke("moves"), 1);
  await save("moves", "export const one = () => 2;");
  assert.equal(await invoke("moves"), 2);
  await there.json("/v1/packages/moves/version", { version: 1 }, { method: "PUT" });
  assert.equal(await invoke("moves"), 1);
  await there.json("/v1/packages/moves", undefined, { method: "DELETE" });
  assert.equal(await invoke("moves"), "404 HF_E1013");
  await save("moves", "export const one = () => 3;");
  assert.equal(await invoke("moves"), 3);
});

test("the run says the version that it ran, and has one row", async () => {
  await save("told", "export const one = () => 1;");
  await invoke("told");
  await save("told", "export const one = () => 2;");
  await invoke("told", { label: "the one after" });
  const rows = await w.d1("SELECT id FROM runs WHERE label = 'the one after'");
  assert.equal(rows.length, 1);
  const [{ source }] = await w.d1("SELECT source FROM run_inputs WHERE run_id = ?1", rows[0].id);
  assert.equal(source, "told@2/one");
});

test("an export, parameters and a result that only the new version takes", async () => {
  const takes = (/** @type {string} */ type) => ({
    exports: { one: { params: { type: "object", properties: { a: { type } } } } },
  });
  await save("fits", "export const one = ({ a }) => a;", takes("string"));
  assert.equal(await invoke("fits", { params: { a: "x" } }), "x");
  await save(
    "fits",
    "export const one = ({ a }) => a;\nexport const two = () => 2;",
    takes("number"),
  );
  assert.equal(await invoke("fits", { params: { a: 7 } }), 7);
  assert.equal(await invoke("fits", { params: { a: "x" } }), "400 HF_E1002");
  assert.equal((await here.json("/v1/packages/fits/two", {})).body.result, 2);
});

test("budget and limits that an invocation wants hold for the new version, too", async () => {
  await save("lowers", "export const one = () => 1;");
  await invoke("lowers");
  await save("lowers", "export const one = () => 'long'.repeat(1000);");
  const { body } = await here.json("/v1/packages/lowers/one", {
    budgetMs: 1_234,
    limits: { resultBytes: 1_024 },
  });
  assert.equal(body.errorDetails.limitName, "resultBytes", JSON.stringify(body));
  assert.equal(
    (await w.d1("SELECT budget_ms FROM runs WHERE id = ?1", body.id))[0].budget_ms,
    1_234,
  );
});

test("a key answers what it answered, and a new one by the new version", async () => {
  await save("keyed", "export const one = () => 1;");
  assert.equal(await invoke("keyed", {}, { "idempotency-key": "k-1" }), 1);
  await save("keyed", "export const one = () => 2;");
  assert.equal(await invoke("keyed", {}, { "idempotency-key": "k-1" }), 1);
  assert.equal(await invoke("keyed", {}, { "idempotency-key": "k-2" }), 2);
  const rows = await w.d1("SELECT COUNT(*) AS n FROM ledger WHERE key IN ('k-1', 'k-2')");
  assert.equal(rows[0].n, 2);
});

test("a program that invokes it", async () => {
  await save("nested", "export const one = () => 1;");
  const code = `return await packages.invoke("nested/one")`;
  assert.equal((await here.execute(code)).result, 1);
  await save("nested", "export const one = () => 2;");
  assert.equal((await here.execute(code)).result, 2);
});

test("changed again and again while it is invoked", { timeout: 120_000 }, async () => {
  await save("busy", "export const one = () => 0;");
  let saved = 0;
  let ended = false;
  const changing = (async () => {
    for (let n = 1; n <= 15; n++) {
      await save("busy", `export const one = () => ${n};`);
      saved = n;
    }
    ended = true;
  })();
  while (!ended) {
    const least = saved;
    const got = await invoke("busy");
    assert.ok(typeof got === "number" && got >= least, `${got}, and ${least} was saved before`);
  }
  await changing;
  assert.equal(await invoke("busy"), 15);
});
