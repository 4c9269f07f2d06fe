// Rule: one isolate serves several invocations at once, and each has its own calls, logs, timers, clock, randomness,
// budget and end, also through the globals, which are shared.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asProgram } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

/** @param {string} body @param {any[]} params @param {any} [more] */
async function together(body, params, more = {}) {
  const answer = await workerd.post("/shared", {
    program: asProgram(body),
    params,
    tools: { echo: { echo: true }, slow: { echo: true, delayMs: 15 } },
    ...more,
  });
  assert.equal(answer.error, undefined);
  return answer.runs;
}

const EIGHT = Array.from({ length: 8 }, (_, id) => ({ id, ms: 1 + ((id * 7) % 5) }));

test("calls, lines and values stay with their invocation", async () => {
  const runs = await together(
    `for (let i = 0; i < 10; i++) {
      console.log("own", params.id, i);
      globalThis.console.log("global", params.id, i);
      const r = await (i % 3 ? tools.echo : tools.slow)({ id: params.id, i });
      if (r.id !== params.id) throw new Error("mixed up");
      await new Promise((resolve) => globalThis.setTimeout(resolve, params.ms));
    }
    return params.id;`,
    EIGHT,
  );
  for (const [id, { end, logs, calls }] of runs.entries()) {
    assert.equal(end.value, id, JSON.stringify(end));
    assert.equal(calls.length, 10);
    assert.ok(calls.every((/** @type {any} */ call) => call.args.id === id));
    assert.equal(logs.length, 20);
    assert.ok(
      logs.every((/** @type {any} */ [, , text]) => text.split(" ")[1] === String(id)),
      JSON.stringify(logs),
    );
  }
});

test("the clock of an invocation is its own, and stands still within its turn", async () => {
  const runs = await together(
    `const seen = [];
    for (let i = 0; i < 10; i++) {
      const a = [Date.now(), performance.now()];
      for (let k = 0; k < 50; k++) await null;
      seen.push(a[0] === Date.now() && a[1] === performance.now());
      await globalThis.scheduler.wait(params.ms);
    }
    return [seen.every(Boolean), performance.now()];`,
    EIGHT,
  );
  for (const [id, { end }] of runs.entries()) {
    const least = 10 * (EIGHT[id]?.ms ?? 0);
    assert.ok(end.value[0] && end.value[1] >= least, JSON.stringify(end.value));
  }
});

test("draws of an invocation are those of its seed, whoever else draws", async () => {
  const body = `const out = [];
    for (let i = 0; i < 6; i++) { out.push(Math.random(), crypto.randomUUID()); await tools.echo({}); await sleep(params.ms); }
    return out;`;
  const invocation = { seed: "5".repeat(64) };
  const runs = await together(body, EIGHT, { invocation });
  const [alone] = await together(body, [{ id: 0, ms: 1 }], { invocation });
  for (const { end } of runs) assert.deepEqual(end.value, alone.end.value);
});

test("an invocation's rejections, deadlock and budget are its own", async () => {
  const runs = await together(
    `if (params.does === "rejects") { Promise.reject(new Error("unheard " + params.id)); await sleep(5); return "done"; }
    if (params.does === "hangs") await new Promise(() => {});
    if (params.does === "sleeps") await sleep(20000);
    await sleep(300);
    return params.id;`,
    [
      { id: 0, does: "rejects" },
      { id: 1, does: "hangs" },
      { id: 2, does: "sleeps" },
      { id: 3, does: "works" },
      { id: 4, does: "rejects" },
    ],
    { invocation: { budgetMs: 600 } },
  );
  assert.deepEqual(
    runs.map((/** @type {any} */ { end }) => end.value ?? end.end),
    ["done", "deadlocked", "timed_out", 3, "done"],
  );
  for (const id of [0, 4]) assert.match(runs[id].logs[0][2], new RegExp(`unheard ${id}`));
  for (const id of [1, 2, 3]) assert.deepEqual(runs[id].logs, []);
});

test("the export that is asked for is the one that is called", async () => {
  const { runs, error } = await workerd.post("/shared", {
    program: "export default (guard, { params }) => async (name) => ({ name, params });",
    params: [1, 2],
    invocation: { export: "greet" },
  });
  assert.equal(error, undefined);
  assert.deepEqual(
    runs.map((/** @type {any} */ { end }) => end.value),
    [
      { name: "greet", params: 1 },
      { name: "greet", params: 2 },
    ],
  );
});
