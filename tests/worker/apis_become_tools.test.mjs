// Rule: an HTTP API is connected by its OpenAPI document, and a GraphQL API by its URL; their operations are
// found by typed names and called, with the secrets that they want.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { buildSchema, graphql } from "graphql";
import { start } from "./harness.mjs";

const DOCUMENT = `
openapi: 3.1.0
info: { title: Shop, version: "1" }
servers: [{ url: "{base}", variables: { base: { default: /v1 } } }]
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Key }
    basic: { type: http, scheme: basic }
  schemas:
    Item:
      type: object
      required: [id, name]
      properties: { id: { type: integer }, name: { type: string }, tags: { type: array, items: { type: string } } }
paths:
  /items:
    get:
      operationId: listItems
      tags: [items]
      summary: Lists the items of the shop.
      parameters:
        - { name: tag, in: query, schema: { type: array, items: { type: string } } }
        - { name: X-Trace, in: header, schema: { type: string } }
      responses:
        "200": { description: ok, content: { application/json: { schema: { type: array, items: { $ref: "#/components/schemas/Item" } } } } }
    post:
      operationId: createItem
      tags: [items]
      security: [{ key: [] }]
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } }
      responses: { "201": { description: made, content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } } }
  /items/{id}:
    delete:
      operationId: deleteItem
      tags: [items]
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
      responses: { "204": { description: gone }, "404": { description: none } }
  /busy:
    get: { operationId: busy, responses: { "200": { description: ok } } }
`;

const SCHEMA = buildSchema(`
  "A book." type Book { id: ID!, title: String!, author: Author! }
  type Author { name: String!, born: Int }
  type Query {
    "Finds books by a word of their title." books(word: String!): [Book!]!
  }
  type Mutation { addBook(title: String!): Book! }
`);
const BOOKS = [{ id: "1", title: "Momo", author: { name: "Ende", born: 1929 } }];

/** @type {{method?: string, url?: string, headers: import("node:http").IncomingHttpHeaders, body: string}[]} */
const heard = [];
let busy = 0;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
let origin = "";
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  heard.push({ method: request.method, url: request.url, headers: request.headers, body });
  const json = (/** @type {number} */ status, /** @type {unknown} */ value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  const url = new URL(request.url ?? "/", origin);
  if (url.pathname === "/shop.yaml") {
    response.writeHead(200, { "content-type": "application/yaml" }).end(DOCUMENT);
  } else if (url.pathname === "/graphql") {
    const { query, variables } = JSON.parse(body);
    const rootValue = {
      books: (/** @type {any} */ { word }) => BOOKS.filter(({ title }) => title.includes(word)),
      addBook: (/** @type {any} */ { title }) => {
        if (title === "") throw new Error("a book has a title");
        return { id: "2", title, author: { name: "?", born: null } };
      },
    };
    json(
      200,
      await graphql({ schema: SCHEMA, source: query, rootValue, variableValues: variables }),
    );
  } else if (url.pathname === "/v1/items" && request.method === "GET") {
    json(200, [{ id: 1, name: "cup", tags: url.searchParams.getAll("tag") }]);
  } else if (url.pathname === "/v1/items") {
    if (request.headers["x-key"] !== "key-of-the-shop") return json(401, { message: "no key" });
    json(201, JSON.parse(body));
  } else if (url.pathname === "/v1/items/1") {
    response.writeHead(204).end();
  } else if (url.pathname === "/v1/busy") {
    busy += 1;
    if (busy % 3 === 0) json(200, { tries: busy });
    else json(503, { message: "busy" }, { "retry-after": "0" });
  } else {
    json(404, { message: "no such item" });
  }
});

before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  origin = `http://127.0.0.1:${port}`;
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${origin}` },
    outbound: "network",
  });
});
after(async () => {
  await w?.stop();
  server.close();
});

const put = (/** @type {string} */ place, /** @type {unknown} */ body) =>
  w.json(place, body, { method: "PUT" });

/** @param {string} code */
async function value(code) {
  const run = await w.execute(code);
  assert.equal(run.status, "completed", run.error);
  return run.result;
}

test("a document is read from its URL, and its operations are tools", async () => {
  const { status, body } = await put("/v1/sources/shop", {
    kind: "openapi",
    url: `${origin}/shop.yaml`,
  });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.state, "ready", JSON.stringify(body));
  assert.equal(body.facts.server, `${origin}/v1`);
  const found = await value(`return tools.search({ query: "list items" })`);
  assert.equal(found.tools[0].effect, "reads");
  const path = found.tools[0].path;
  const { body: described } = await w.json(`/v1/tools/${path}`);
  assert.match(described.typescript, /name: string/);
  const items = await value(`return tools.${path}({ tag: ["a", "b"] })`);
  assert.deepEqual(items, [{ id: 1, name: "cup", tags: ["a", "b"] }]);
});

test("an operation that wants a credential gets the secret that is bound to its scheme", async () => {
  const secret = {
    value: "key-of-the-shop",
    sources: ["shop"],
    hosts: [origin],
    headers: ["x-key"],
  };
  assert.equal((await put("/v1/secrets/shop", secret)).status, 200);
  const auth = [{ secret: "shop", scheme: "key" }];
  await put("/v1/sources/shop", { kind: "openapi", url: `${origin}/shop.yaml`, auth });
  const { body } = await w.json("/v1/tools?source=shop&query=create+item");
  const { path } = body.tools[0];
  const { body: described } = await w.json(`/v1/tools/${path}`);
  const argument = /body[?]?:/.test(described.typescript)
    ? "{ body: { id: 2, name: 'pan' } }"
    : "{ id: 2, name: 'pan' }";
  assert.deepEqual(await value(`return tools.${path}(${argument})`), { id: 2, name: "pan" });
  await value(`return tools.shop.items.listItems({})`).catch(() =>
    value(`return tools.shop.items.list({})`),
  );
  assert.equal(heard.at(-1)?.headers["x-key"], undefined, "no scheme, no secret");
});

test("a status that is none of success is an error with status and body", async () => {
  // A DELETE destroys, which asks a person unless a rule says otherwise.
  const rules = [{ pattern: "shop.*", action: "allow" }];
  assert.equal((await put("/v1/policies", { rules })).status, 200);
  const { body } = await w.json("/v1/tools?source=shop&query=delete+item");
  const { path } = body.tools[0];
  assert.equal(await value(`return tools.${path}({ id: 1 })`), null);
  const got = await value(`
    try { await tools.${path}({ id: 7 }) } catch (error) { return [error.name, error.code, error.data] }`);
  assert.equal(got[0], "HttpError");
  assert.equal(got[2].status, 404);
  assert.deepEqual(got[2].body, { message: "no such item" });
});

test("a service that is busy is asked again, as often as it may be", async () => {
  const { body } = await w.json("/v1/tools?source=shop&query=busy");
  assert.deepEqual(await value(`return tools.${body.tools[0].path}()`), { tries: 3 });
});

test("a document that is uploaded needs a server, and then does", async () => {
  const bad = await put("/v1/sources/up", { kind: "openapi", document: DOCUMENT });
  assert.equal(bad.status, 422, JSON.stringify(bad.body));
  assert.equal(bad.body.error.code, "HF_E1608");
  assert.equal((await w.json("/v1/sources/up")).status, 404);
  const settings = { kind: "openapi", document: DOCUMENT, server: `${origin}/v1` };
  const { body } = await put("/v1/sources/up", settings);
  assert.equal(body.state, "ready", JSON.stringify(body));
  assert.equal(body.settings.document, undefined);
  const found = await w.json("/v1/tools?source=up&query=list+items");
  const items = await value(`return tools.${found.body.tools[0].path}()`);
  assert.equal(items[0].name, "cup");
});

test("what is no document is refused with the place", async () => {
  for (const document of ["swagger: '2.0'", "a: [", { openapi: "3.0.0" }]) {
    const { status, body } = await put("/v1/sources/bad", { kind: "openapi", document });
    assert.equal(status, 422, JSON.stringify(body));
    assert.equal(body.error.code, "HF_E1608");
  }
});

test("a source says what undoes its tools, and that is offered and done", async () => {
  const secret = {
    value: "key-of-the-shop",
    sources: ["undone"],
    hosts: [origin],
    headers: ["x-key"],
  };
  assert.equal((await put("/v1/secrets/undone", secret)).status, 200);
  const settings = {
    kind: "openapi",
    document: DOCUMENT,
    server: `${origin}/v1`,
    auth: [{ secret: "undone", scheme: "key" }],
  };
  const { body: dry } = await put("/v1/sources/undone?dryRun=1", settings);
  const pathOf = (/** @type {string} */ word) =>
    dry.tools.find((/** @type {any} */ { path }) => path.includes(word)).path;
  const [create, remove] = [pathOf("create"), pathOf("delete")];
  const good = { pattern: create, by: remove, arguments: { id: { from: "/result/id" } } };
  for (const [one, part] of /** @type {[any, string][]} */ ([
    [{ ...good, pattern: "storage.set" }, "compensations[0].pattern"],
    [{ ...good, pattern: "undone.items.nothing" }, "compensations[0].pattern"],
    [{ ...good, by: `${remove}s` }, remove],
    [{ ...good, arguments: { id: { from: "/id" } } }, "compensations[0]"],
  ])) {
    for (const query of ["?dryRun=1", ""]) {
      const wrong = { ...settings, compensations: [one] };
      const refused = await put(`/v1/sources/undone${query}`, wrong);
      assert.equal(refused.status, 400, JSON.stringify(refused.body));
      assert.ok(refused.body.error.message.includes(part), refused.body.error.message);
    }
  }
  assert.equal((await w.json("/v1/sources/undone")).status, 404, "nothing was kept");

  const made = await put("/v1/sources/undone", { ...settings, compensations: [good] });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  assert.deepEqual(made.body.settings.compensations, [good]);
  assert.deepEqual((await w.json("/v1/compensations")).body.sources, [good]);
  const allowed = { rules: [{ pattern: remove, action: "allow" }] };
  assert.equal((await put("/v1/policies", allowed)).status, 200);

  const run = await w.execute(`
    await tools.${create}({ body: { id: 1, name: "cup" } });
    throw new Error("half way");`);
  assert.equal(run.rollbackSteps, 1, JSON.stringify(run));
  const place = `/v1/runs/${run.id}/rollback`;
  const [step] = (await w.json(place)).body.steps;
  assert.deepEqual([step.by, step.arguments, step.state], [remove, { id: 1 }, "offered"]);
  const { body: undone } = await w.json(place, undefined, { method: "POST" });
  assert.deepEqual([undone.result?.undone, undone.result?.failed], [1, 0], JSON.stringify(undone));
  assert.deepEqual([heard.at(-1)?.method, heard.at(-1)?.url], ["DELETE", "/v1/items/1"]);

  await w.json("/v1/sources/undone", undefined, { method: "DELETE" });
  assert.deepEqual((await w.json("/v1/compensations")).body.sources, []);
});

test("a GraphQL API is asked for its schema, and its fields are tools", async () => {
  const { body } = await put("/v1/sources/library", { kind: "graphql", url: `${origin}/graphql` });
  assert.equal(body.state, "ready", JSON.stringify(body));
  const found = await value(`return tools.search({ query: "find books", source: "library" })`);
  const { path, effect } = found.tools[0];
  assert.equal(effect, "reads");
  const books = await value(`return tools.${path}({ word: "Mo" })`);
  assert.equal(books[0].title, "Momo");
  const more = await value(`return tools.${path}({ word: "Mo", select: "title author { name }" })`);
  assert.deepEqual(more, [{ title: "Momo", author: { name: "Ende" } }]);
  const add = (await w.json("/v1/tools?source=library&query=add+book")).body.tools[0].path;
  const failed = await value(`
    try { await tools.${add}({ title: "" }) } catch (error) { return [error.name, error.message] }`);
  assert.equal(failed[0], "GraphqlError");
  assert.match(failed[1], /a book has a title/);
});
