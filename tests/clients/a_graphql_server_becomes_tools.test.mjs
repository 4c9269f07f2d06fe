// Rule: a GraphQL server that nobody here wrote (graphql-http) is connected by its introspection, searched,
// described and called; what fails says why, and what is slow is ended.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "../worker/harness.mjs";
import { endsSlowCalls, here, upstream } from "./sources/upstream.mjs";

/** @type {Awaited<ReturnType<typeof upstream>>} */
let server;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  const file = here("graphql_server.mjs");
  server = await upstream(
    (port) => ({ file: process.execPath, args: [file, String(port)] }),
    "/__mocks/heard",
  );
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${server.origin}` },
    outbound: "network",
  });
});
after(async () => {
  await w?.stop();
  await server?.stop();
});

test("it is connected", async () => {
  const settings = { kind: "graphql", url: `${server.origin}/graphql` };
  const { body } = await w.json("/v1/sources/library", settings, { method: "PUT" });
  assert.equal(body.state, "ready", JSON.stringify(body) + server.said());
  assert.equal(body.toolCount, 3);
});

test("its fields are found and described", async () => {
  const code = `return tools.search({ query: "find a book by its title" })`;
  const run = await w.execute(code);
  assert.equal(run.result?.tools[0].path, "library.query.findBooks", JSON.stringify(run));
  const { body } = await w.json("/v1/tools/library.mutation.addBook");
  assert.match(body.typescript, /title: string/);
  assert.match(body.typescript, /shelf\?: "TALES" \| "FACTS"/);
  assert.equal(body.effect, "changes");
});

test("its fields are called, with what is selected", async () => {
  const run = await w.execute(`
    const { query, mutation } = tools.library;
    const added = await mutation.addBook({ book: { title: "Jim Knopf", author: "Ende" } });
    const found = await query.findBooks({
      word: "Momo", shelf: "TALES",
      select: "title author { name books(first: 2) { title } }",
    });
    return { added, found };
  `);
  assert.deepEqual(run.result, {
    added: { id: "2", title: "Jim Knopf", shelf: null, tags: [], author: { name: "Ende" } },
    found: [
      {
        title: "Momo",
        author: { name: "Ende", books: [{ title: "Momo" }, { title: "Jim Knopf" }] },
      },
    ],
  });
});

test("what fails says why", async () => {
  const failed = async (/** @type {string} */ code) => (await w.execute(`return ${code}`)).error;
  const add = (/** @type {string} */ book) => failed(`tools.library.mutation.addBook(${book})`);
  assert.match(await add(`{ book: { title: "x" } }`), /arguments\.book\.author is required/);
  assert.match(await add(`{ book: { title: "Momo", author: "x" } }`), /Momo is there at addBook/);
  const select = `tools.library.query.findBooks({ word: "o", select: "title price" })`;
  assert.match(await failed(select), /Cannot query field "price"/);
});

test("a slow call ends at its limit, and one that nobody waits for ends with its run", async () => {
  await endsSlowCalls(w, "tools.library.query.inventory()");
  const left = async () => {
    const answer = await fetch(`${server.origin}/__mocks/heard`);
    const heard = /** @type {{left: boolean}[]} */ (await answer.json());
    return heard.filter((entry) => entry.left).length;
  };
  for (let waited = 0; waited < 5_000 && (await left()) < 2; waited += 100) await sleep(100);
  assert.equal(await left(), 2, "the server was not told");
});
