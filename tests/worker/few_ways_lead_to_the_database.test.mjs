// Rule: a run asks the database twice, to begin and to end; each call that may change something once more.
// In the cloud each way takes as long as the rest of a small run.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    main: "tests/worker/support/counting.js",
    vars: { HOLDFAST_TOOLS_SERVICE: "TOOLS" },
    neighbours: [{ name: "tools", main: "bench/workers/tools.js", binding: "TOOLS" }],
  });
  const CODE = { modules: { "a.js": "export const one = () => 1;" } };
  await w.json("/v1/packages/a", CODE, { method: "PUT" });
});
after(() => w.stop());

/**
 * The fewest of some runs: what is gathered for a moment, to go along with what follows, goes by itself
 * where a busy machine keeps that waiting.
 *
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>}
 */
async function waysOf(work) {
  let fewest = Number.POSITIVE_INFINITY;
  await work(); // what has to be read once an isolate is read
  for (let round = 0; round < 5; round += 1) {
    await w.json("/ways");
    await work();
    fewest = Math.min(fewest, (await w.json("/ways")).body.ways);
  }
  return fewest;
}

/** @param {string} code */
const running = (code) => async () => {
  const run = await w.execute(code);
  assert.equal(run.outcome, "completed", JSON.stringify(run));
};

let keys = 0;

/** @param {Record<string, string>} [headers] */
const invoking = (headers) => async () => {
  const { body } = await w.json("/v1/packages/a/one", {}, headers ? { headers } : {});
  assert.equal(body.result, 1, JSON.stringify(body));
};

test("a program without calls: two", async () => {
  assert.equal(await waysOf(running("return 1")), 2);
});

test("a program that reads ten times: two, and one for the rows of the calls", async () => {
  const code = `for (let i = 0; i < 10; i++) await storage.get({ key: "a" + i }); return 1;`;
  // Each read is a way of its own.
  assert.ok((await waysOf(running(code))) <= 10 + 3);
});

test("a call of a tool that may change something: one more", async () => {
  assert.equal(await waysOf(running("return await tools.echo({ n: 1 })")), 3);
});

test("an invocation of a package: two", async () => {
  assert.equal(await waysOf(invoking()), 2);
});

test("an invocation with a key: two", async () => {
  const keyed = () => invoking({ "idempotency-key": `k-${(keys += 1)}` })();
  assert.equal(await waysOf(keyed), 2);
});

test("a program that invokes a package: two for either, and the row of the call", async () => {
  assert.equal(await waysOf(running(`return await packages.invoke("a/one")`)), 5);
});
