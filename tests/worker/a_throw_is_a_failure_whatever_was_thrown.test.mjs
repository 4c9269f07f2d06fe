// Rule: a program that throws has failed, also when what it threw is falsy, empty or hostile; so
// has a tool. The message is never empty.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { overHttp } from "./cases/over-http.mjs";

/** @type {Awaited<ReturnType<typeof overHttp>>} */
let sandbox;
before(async () => {
  sandbox = await overHttp();
});
after(() => sandbox.stop());

/**
 * @param {string} code
 * @param {import("./cases/runner.mjs").Order["tools"]} [tools]
 */
async function end(code, tools = {}) {
  const run = await sandbox.start({ code, tools, budgetMs: 5_000, limits: {} });
  return run.ended;
}

for (const value of [
  ...["undefined", "null", "false", "0", "-0", "0n", "NaN", '""', "[]", "Symbol()", "() => {}"],
  ...["new Error()", 'new Error("")', "Object.create(null)", "new Proxy({}, {})", 'new String("")'],
  "new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; }, ownKeys() { throw 3; } })",
  "Object.freeze(Object.assign(new Error(), { name: '', message: '', stack: '' }))",
  "new AggregateError([])",
  "{ then(done) { done(1); } }",
]) {
  for (const [how, code] of Object.entries({
    throw: `throw (${value});`,
    "an await": `await Promise.reject(${value});`,
    "a returned promise": `return Promise.reject(${value});`,
    "a promise inside the result": `return { inside: [Promise.reject(${value})] };`,
  })) {
    test(`${value}, by ${how}`, async () => {
      const { outcome, kind, message } = await end(code);
      assert.equal(outcome, "failed");
      assert.equal(kind, "runtime_error", message);
      assert.ok(message && message.trim() !== "", "the message is empty");
    });
  }
}

test('a tool that fails with Error("") has failed, caught or not', async () => {
  for (const throws of ["", { message: "" }, { name: "", message: "" }]) {
    const tools = { bad: { throws } };
    const uncaught = await end("return await tools.bad({});", tools);
    assert.equal(uncaught.kind, "tool_error");
    assert.match(String(uncaught.message), /bad/);
    const caught = await end(
      'try { await tools.bad({}); return "no error"; } catch (e) { return [e instanceof Error, e.message !== ""]; }',
      tools,
    );
    assert.deepEqual(caught.value, [true, true]);
  }
});
