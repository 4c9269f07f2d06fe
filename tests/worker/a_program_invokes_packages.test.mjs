// Rule: a program invokes an export as a run of its own. Four at once and eight in line for a parent,
// four levels deep; what is beyond is refused at once, and nothing ever waits for itself.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({ vars: { HOLDFAST_PERMITS: "2", HOLDFAST_PERMITS_PRINCIPAL: "2" } });
  const saved = await w.json(
    "/v1/packages/kit",
    {
      modules: {
        "index.js": `
export const echo = (x) => ({ got: params, surface: run.surface });
export const slow = async ({ ms }) => { await sleep(ms); return ms; };
export const boom = () => { throw new TypeError("no"); };
export const count = async () => {
  const { value = 0 } = await storage.get({ key: "n" });
  await storage.set({ key: "n", value: value + 1 });
  return value + 1;
};
export const deeper = async ({ level }) =>
  packages.invoke("kit/deeper", { level: level + 1 }).catch((e) => [level, e.code]);`,
      },
      exports: { slow: { params: { required: ["ms"] } } },
    },
    { method: "PUT" },
  );
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
});
after(() => w.stop());

test("an invocation gives its result and leaves a run of its own", async () => {
  const run = await w.execute(`return await packages.invoke("kit/echo", { a: [1, "x"] })`);
  assert.deepEqual(run.result, { got: { a: [1, "x"] }, surface: "invocation" }, run.error);
  const [row] = await w.d1("SELECT * FROM runs WHERE parent_id = ?", run.id);
  assert.deepEqual([row.surface, row.status], ["invocation", "completed"]);
});

test("a failure can be caught, with the package's words", async () => {
  const run = await w.execute(`
    const said = [];
    for (const [name, params] of [["kit/boom", {}], ["kit/none", {}], ["none/x", {}], ["kit/slow", {}]]) {
      await packages.invoke(name, params).catch((e) => said.push([e.message, e.code]));
    }
    return said;`);
  const [boom, noExport, noPackage, params] = run.result;
  assert.match(boom[0], /TypeError: no/);
  assert.equal(boom[1], "HF_E1301");
  assert.deepEqual([noExport[1], noPackage[1], params[1]], ["HF_E1014", "HF_E1013", "HF_E1002"]);
});

test("a key is kept for a program's invocation", async () => {
  const run = await w.execute(`
    const invoke = () => packages.invoke("kit/count", {}, { idempotencyKey: "once" });
    return [await invoke(), await invoke()];`);
  assert.deepEqual(run.result, [1, 1], run.error);
});

test("twelve at once all come to an end though the top has two permits", async () => {
  const run = await w.execute(`
    return await Promise.all(Array.from({ length: 12 }, () => packages.invoke("kit/slow", { ms: 100 })));`);
  assert.deepEqual(run.result, Array(12).fill(100), run.error);
});

test("the thirteenth is refused at once", async () => {
  const run = await w.execute(`
    const ended = await Promise.allSettled(
      Array.from({ length: 13 }, () => packages.invoke("kit/slow", { ms: 300 })));
    return ended.map((one) => one.status === "rejected" ? one.reason.code : one.value);`);
  assert.deepEqual(
    run.result.sort(),
    [...Array(12).fill(300), "HF_E1411"],
    run.error ?? JSON.stringify(run.result),
  );
});

test("the fifth level is refused", async () => {
  const run = await w.execute(`return await packages.invoke("kit/deeper", { level: 1 })`);
  assert.deepEqual(run.result, [4, "HF_E1411"], run.error);
});

test("what a run that ends had invoked is cancelled", async () => {
  const run = await w.execute({
    code: `await Promise.all([packages.invoke("kit/slow", { ms: 20000 }), sleep(300).then(() => { throw new Error("out") })])`,
  });
  assert.equal(run.status, "failed");
  for (let i = 0; i < 50; i++) {
    const [row] = await w.d1("SELECT status FROM runs WHERE parent_id = ?", run.id);
    if (row?.status === "cancelled") return;
    await sleep(100);
  }
  assert.fail("it goes on");
});

test("no row stays running", async () => {
  assert.deepEqual(await w.d1("SELECT id FROM runs WHERE status = 'running'"), []);
});
