// Rule: emit(value) puts a value beside the result, in order and in plain form; it needs no await, and a
// run that emits nothing has no such field.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

test("emitted values stand beside the result", async () => {
  const run = await w.execute('emit("one"); await emit({ at: new Date(0) }); return 3');
  assert.deepEqual(run.emitted, ["one", { at: "1970-01-01T00:00:00.000Z" }], JSON.stringify(run));
  assert.equal(run.result, 3);
  assert.deepEqual((await w.json(`/v1/runs/${run.id}`)).body, run);
  assert.equal((await w.execute("return 1")).emitted, undefined);
});

test("too much is refused as a limit that the program can catch", async () => {
  const run = await w.execute(
    'try { await emit("x".repeat(300000)) } catch (error) { return error.message }',
  );
  assert.match(run.result, /262144/);
});
