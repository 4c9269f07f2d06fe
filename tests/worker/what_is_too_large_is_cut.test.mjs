// Rule: an answer of a source that is over its limit is cut: what stands first is kept, of a list whole items, and
// the run is warned. What cannot be cut fails. A secret is hidden all the same, and a run that
// waited for people is warned, too.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { mcpStand, text } from "./mcp_stand.mjs";

const LIMIT = 4_000;
const SECRET = "s3cret-that-nobody-may-see";
const ITEMS = Array.from({ length: 100 }, (_, id) => ({ id, name: "n".repeat(80) }));
const operation = (/** @type {string} */ operationId) => ({
  get: { operationId, responses: { 200: { description: "ok" } } },
});
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Large", version: "1" },
  paths: {
    "/list": operation("list"),
    "/text": operation("text"),
    "/bytes": operation("bytes"),
    "/echo": operation("echo"),
    "/tagged": operation("tagged"),
  },
};

let origin = "";
const server = createServer((request, response) => {
  const send = (/** @type {string} */ type, /** @type {any} */ body) =>
    response.writeHead(200, { "content-type": type }).end(body);
  switch (request.url) {
    case "/list":
      return send("application/json", JSON.stringify({ first: 1, items: ITEMS, last: 2 }));
    case "/text":
      return send("text/plain", '"ü'.repeat(50_000));
    case "/bytes":
      return send("image/png", Buffer.alloc(50_000, 1));
    case "/tagged":
      return send("application/json", JSON.stringify({ $: 1, items: ITEMS.slice(0, 42) }));
    default: {
      // What it was shown stands where the answer is cut.
      const shown = String(request.headers.authorization).replace("Bearer ", "");
      const before = "x".repeat(LIMIT - 12);
      return send("text/plain", `${before}${shown}${"y".repeat(100_000)}`);
    }
  }
});

/** @type {Awaited<ReturnType<typeof mcpStand>>} */
let stand;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  origin = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
  stand = await mcpStand({
    tools: [
      {
        name: "rows",
        annotations: { readOnlyHint: true },
        call: () => ({ ...text("rows"), structuredContent: { rows: ITEMS.slice(0, 60) } }),
      },
      { name: "wipe", annotations: { destructiveHint: true }, call: () => text("gone") },
    ],
  });
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${origin}, ${stand.origin}` },
    outbound: "network",
  });
  const PUT = { method: "PUT" };
  const secret = { value: SECRET, sources: ["large"], hosts: [origin] };
  await w.json("/v1/secrets/shown", secret, PUT);
  const auth = [{ secret: "shown" }];
  const large = { kind: "openapi", document: DOCUMENT, server: origin, auth };
  const one = await w.json("/v1/sources/large", large, PUT);
  assert.equal(one.body.state, "ready", JSON.stringify(one.body));
  const two = await w.json("/v1/sources/stand", { kind: "mcp", url: stand.url }, PUT);
  assert.equal(two.body.state, "ready", JSON.stringify(two.body));
});
after(async () => {
  await w?.stop();
  await stand?.stop();
  server.close();
});

const run = (/** @type {string} */ code) =>
  w.execute({ code: `return ${code}`, limits: { answerBytes: LIMIT } });

/**
 * @param {any} ended
 * @param {string} path
 * @param {RegExp} at
 */
function warned(ended, path, at) {
  assert.equal(ended.status, "completed", ended.error);
  const [warning, ...more] = ended.warnings;
  assert.deepEqual(more, []);
  assert.ok(
    warning.startsWith(`${path}: its answer is over ${LIMIT} bytes (answerBytes)`),
    warning,
  );
  assert.match(warning, at);
}

test("of a list the first items are kept, and what stood behind is missing", async () => {
  const ended = await run("tools.large.list()");
  warned(ended, "large.list", / was cut at items\[\d+\]/);
  const { first, items, ...more } = ended.result;
  assert.deepEqual([first, more], [1, {}]);
  assert.ok(JSON.stringify(ended.result).length <= LIMIT);
  assert.ok(items.length > 30, `${items.length}`);
  assert.deepEqual(items, ITEMS.slice(0, items.length), "every item is whole");
});

test("a text ends where the room does, its quotes and letters whole", async () => {
  const ended = await run("tools.large.text()");
  warned(ended, "large.text", / was cut: what stood behind/);
  assert.match(ended.result, /^("ü)+"?$/);
  assert.ok(ended.result.length > LIMIT / 3);
});

test("structured content of an MCP server is cut by the same rule", async () => {
  const ended = await run("tools.stand.rows()");
  warned(ended, "stand.rows", / was cut at rows\[\d+\]/);
  assert.deepEqual(ended.result.rows[0], ITEMS[0]);
});

test("bytes, and what has a key of ours, are not cut: the call fails", async () => {
  for (const tool of ["bytes", "tagged"]) {
    const ended = await run(`tools.large.${tool}()`);
    assert.equal(ended.errorDetails?.code, "HF_E1410", `${tool}: ${ended.error}`);
    assert.deepEqual(ended.warnings, []);
  }
});

test("what is within the limit is whole, and nobody is warned", async () => {
  const ended = await w.execute("return tools.large.list()");
  assert.deepEqual(ended.result, { first: 1, items: ITEMS, last: 2 });
  assert.deepEqual(ended.warnings, []);
});

test("no part of a secret is left where the answer is cut", async () => {
  const ended = await run("tools.large.echo()");
  warned(ended, "large.echo", / was cut/);
  assert.match(ended.result, /^x+/);
  for (let length = 4; length <= SECRET.length; length += 1) {
    assert.ok(!ended.result.includes(SECRET.slice(0, length)), ended.result.slice(-60));
  }
});

test("a run that waited for people is warned of what was cut before", async () => {
  const waits = await run("[(await tools.large.list()).first, (await tools.stand.wipe()).text]");
  assert.equal(waits.status, "waiting_approval", JSON.stringify(waits));
  const scopes = ["approve"];
  const person = await w.json("/v1/tokens", { label: "person", principal: "admin", scopes });
  assert.equal(person.status, 201, JSON.stringify(person.body));
  const decision = { decision: "allow" };
  const place = `/v1/approvals/${waits.approvals[0].id}`;
  const decided = await w.json(place, decision, { token: person.body.token });
  assert.equal(decided.status, 200, JSON.stringify(decided.body));
  const { body: ended } = await w.json(`/v1/runs/${waits.id}/resume?wait=20`, {});
  assert.deepEqual(ended.result, [1, "gone"]);
  warned(ended, "large.list", /items\[\d+\]/);
});
