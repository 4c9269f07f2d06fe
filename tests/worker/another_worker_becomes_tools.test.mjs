// Rule: the RPC methods of another Worker are tools, if the deployment lets sources have its binding: connected,
// listed, found, described with the schemas that it gives, called, held to their limits; its errors are told.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    vars: { HOLDFAST_SERVICES: "BILLING, LOST" },
    neighbours: [{ name: "billing", main: "tests/worker/support/billing.js", binding: "BILLING" }],
  });
});
after(() => w.stop());

const put = (/** @type {object} */ settings, name = "billing") =>
  w.json(`/v1/sources/${name}`, { kind: "service", binding: "BILLING", ...settings }, PUT);
const PUT = { method: "PUT" };

test("only a binding that is declared can be had", async () => {
  const { status, body } = await put({ binding: "DB" });
  assert.equal(status, 400);
  assert.match(body.error.message, /HOLDFAST_SERVICES.*BILLING, LOST/);
  const url = await put({ url: "https://example.com" });
  assert.match(url.body.error.message, /reached by a binding/);
  const fetch = await put({ methods: ["fetch"] });
  assert.match(fetch.body.error.message, /"fetch"/);
  const other = await w.json("/v1/sources/x", { kind: "mcp", url: "https://a.example", binding: "BILLING" }, PUT); // prettier-ignore
  assert.match(other.body.error.message, /for the kind service/);
});

test("one that is declared and not bound is told", async () => {
  const { body } = await put({ binding: "LOST" }, "lost");
  assert.equal(body.error.code, "HF_E1050", JSON.stringify(body));
});

test("it is connected and listed, and what is no method is left out", async () => {
  const { body } = await put({});
  assert.equal(body.state, "ready", JSON.stringify(body));
  assert.equal(body.toolCount, 11);
  assert.deepEqual(body.leftOut, [
    { what: "fetch", why: "no method that can be called has this name", whole: true },
  ]);
  const { body: all } = await w.json("/v1/sources");
  assert.deepEqual(all.services, ["BILLING", "LOST"]);
  const [own] = all.sources.filter((/** @type {any} */ { name }) => name === "billing");
  assert.deepEqual([own.kind, own.facts.binding], ["service", "BILLING"]);
  const { body: test } = await w.json("/v1/sources/billing/test", {});
  assert.equal(test.ok, true, JSON.stringify(test));
  const { body: again } = await w.json("/v1/sources/billing/refresh", {});
  assert.equal(again.toolCount, 11);
});

test("its methods are found and described as it says", async () => {
  const run = await w.execute(`return tools.search({ query: "invoices not paid" })`);
  assert.deepEqual(run.result.tools[0], {
    path: "billing.openInvoices",
    description: "Lists the invoices of a customer that are not paid.",
    effect: "reads",
    asks: "never",
  });
  const { body } = await w.json("/v1/tools/billing.openInvoices");
  assert.match(body.typescript, /customer: string/);
  assert.match(body.typescript, /invoices: string\[\]/);
  const { body: refund } = await w.json("/v1/tools/billing.refund");
  assert.deepEqual([refund.effect, refund.asks], ["destroys", "always"]);
});

test("its methods are called with the argument, and for whom it is", async () => {
  const run = await w.execute(`
    const { billing } = tools;
    const bytes = await billing.document();
    return {
      ...(await billing.openInvoices({ customer: "c" })),
      whom: await billing.forWhom({}),
      same: await billing.echo({ $: 1, list: [1, "ü", null, { a: true }] }),
      bytes: [bytes instanceof Uint8Array, ...bytes],
      nothing: await billing.nothing({}),
    };
  `);
  assert.deepEqual(run.result, {
    invoices: ["c-1", "c-2"],
    whom: { principal: "admin", source: "billing" },
    same: { $: 1, list: [1, "ü", null, { a: true }] },
    bytes: [true, 1, 2, 3],
    nothing: null,
  });
});

test("what fails says why", async () => {
  const failed = async (/** @type {string} */ call) => {
    const code = `try { await tools.billing.${call} } catch ({ name, message, code }) { return [name, message, code] }`;
    return (await w.execute(code)).result;
  };
  const [, message, code] = await failed("openInvoices({})");
  assert.equal(code, "HF_E1604");
  assert.match(message, /arguments\.customer is required/);
  assert.deepEqual(await failed("fails()"), ["RangeError", "the books are closed", null]);
  assert.match((await failed("stub()"))[1], /neither JSON nor bytes/);
  assert.match((await failed("gone()"))[1], /gone/);
});

test("a slow method ends at its limit", async () => {
  const code = `try { await tools.billing.slow() } catch (error) { return error.code }`;
  const run = await w.execute({ code, limits: { dispatchMs: 500 } });
  assert.equal(run.result, "HF_E1603");
});

test("a Worker that tells nothing is connected by the names of its methods", async () => {
  const { body } = await put({ methods: ["echo", "nothing"] }, "named");
  assert.deepEqual([body.state, body.toolCount], ["ready", 2], JSON.stringify(body));
  // It says nothing of itself, so a policy has to allow what it does.
  const { body: echo } = await w.json("/v1/tools/named.echo");
  assert.equal(echo.effect, "changes");
  const run = await w.execute(`return tools.named.echo({ a: 1 })`);
  assert.deepEqual(run.result, { a: 1 }, JSON.stringify(run));
});
