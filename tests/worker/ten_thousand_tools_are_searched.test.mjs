// Rule: ten thousand tools are connected, and what somebody looks for is found among them without reading
// the catalogue: a search costs about what it costs among a hundred.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { mcpStand } from "./mcp_stand.mjs";

const VERBS = [
  "list",
  "get",
  "create",
  "update",
  "delete",
  "archive",
  "export",
  "merge",
  "tag",
  "move",
];
const NOUNS = Array.from({ length: 1_000 }, (_, i) => `thing${i}`);
const TOOLS = NOUNS.flatMap((noun) =>
  VERBS.map((verb) => ({
    name: `${verb}_${noun}`,
    description: `Can ${verb} each ${noun} there is.`,
  })),
);

/** @type {Awaited<ReturnType<typeof mcpStand>>} */
let large;
/** @type {Awaited<ReturnType<typeof mcpStand>>} */
let small;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  large = await mcpStand({ tools: TOOLS, pageSize: 500 });
  small = await mcpStand({ tools: TOOLS.slice(0, 100) });
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${large.origin}, ${small.origin}` },
    outbound: "network",
  });
});
after(async () => {
  await w?.stop();
  await large?.stop();
  await small?.stop();
});

const connect = (/** @type {string} */ name, /** @type {string} */ url) =>
  w.json(`/v1/sources/${name}`, { kind: "mcp", url }, { method: "PUT", timeoutMs: 120_000 });

const median = async (/** @type {string} */ place) => {
  const took = [];
  for (let i = 0; i < 9; i++) {
    const began = performance.now();
    const { status } = await w.json(place);
    assert.equal(status, 200);
    took.push(performance.now() - began);
  }
  return took.sort((a, b) => a - b)[4] ?? Infinity;
};

test("ten thousand tools are connected and each is found", async () => {
  const few = await connect("few", small.url);
  assert.equal(few.body.toolCount, 100, JSON.stringify(few.body));
  const { body } = await connect("many", large.url);
  assert.equal(body.state, "ready", JSON.stringify(body));
  assert.equal(body.toolCount, TOOLS.length);
  for (const [query, path] of [
    ["merge thing777", "many.merge_thing777"],
    ["thing999 export", "many.export_thing999"],
    ["many.get_thing500", "many.get_thing500"],
  ]) {
    const found = await w.json(`/v1/tools?source=many&query=${encodeURIComponent(query ?? "")}`);
    assert.equal(found.body.tools[0].path, path, query);
  }
});

test("a search is not slower for what it does not find", async () => {
  const few = await median("/v1/tools?source=few&query=merge+thing7");
  const many = await median("/v1/tools?source=many&query=merge+thing777");
  assert.ok(many < few * 6 + 50, `${few} ms among a hundred, ${many} ms among ten thousand`);
});

test("all of them are listed, page by page, each once", async () => {
  const seen = new Set();
  let cursor = "";
  for (let page = 0; page < 250; page++) {
    const { body } = await w.json(`/v1/tools?source=many&limit=50${cursor}`);
    for (const { path } of body.tools) seen.add(path);
    if (body.cursor === undefined) break;
    cursor = `&cursor=${encodeURIComponent(body.cursor)}`;
  }
  assert.equal(seen.size, TOOLS.length);
});

test("a misspelt path names the nearest", async () => {
  const run = await w.execute(`return tools.many.merge_thing77x({})`);
  assert.equal(run.errorDetails.code, "HF_E1601", run.error);
  assert.match(run.error, /many\.merge_thing77,/);
});
