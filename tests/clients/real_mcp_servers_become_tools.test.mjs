// MCP servers that nobody here wrote, on loopback, are connected, searched, described, called; they fail, are
// slow and are cancelled: the official "everything" and "memory" servers, and one of the Python SDK.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { childEnv, serve } from "../../scripts/lib/command.mjs";
import { pythonWithMcp } from "../../scripts/lib/needs.mjs";
import { sleep, start } from "../worker/harness.mjs";

const STARTS_MS = 30_000;
const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const moduleOf = (/** @type {string} */ name) => fileURLToPath(import.meta.resolve(name));
const python = await pythonWithMcp();

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(() => resolve(undefined)));
  return port;
}

/**
 * @typedef {object} Case
 * @property {string} name of the source
 * @property {(port: number) => {file: string, args: string[], env?: Record<string, string>}} command
 * @property {string} era
 * @property {string[]} paths that it has
 * @property {[query: string, path: string]} search
 * @property {[path: string, type: RegExp]} describe
 * @property {[code: string, expected: unknown][]} calls
 * @property {[code: string, message: RegExp]} fails
 * @property {string} slow a call that takes longer than two seconds; none where it has no such tool
 * @property {string} [missing] why it cannot be tried
 */

/** @type {Case[]} */
const CASES = [
  {
    name: "everything",
    era: "legacy",
    command: (port) => ({
      file: process.execPath,
      args: [moduleOf("@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp"],
      env: { PORT: String(port) },
    }),
    paths: ["everything.echo", "everything.getSum", "everything.getTinyImage"],
    search: ["weather structured content", "everything.getStructuredContent"],
    describe: ["everything.getStructuredContent", /temperature: number/],
    calls: [
      [`tools.everything.echo({ message: "grüß" })`, { text: "Echo: grüß" }],
      [
        `tools.everything.getStructuredContent({ location: "Chicago" }).then((weather) => Object.keys(weather).sort())`,
        ["conditions", "humidity", "temperature"],
      ],
      [
        `tools.everything.getTinyImage().then(({ content }) => content.find(({ type }) => type === "image").data.slice(1, 4))
          .then((bytes) => new TextDecoder().decode(bytes))`,
        "PNG",
      ],
    ],
    fails: [`tools.everything.getSum({ a: 1 })`, /arguments\.b is required/],
    slow: `tools.everything.triggerLongRunningOperation({ duration: 10, steps: 20 })`,
  },
  {
    name: "memory",
    era: "legacy",
    command: (port) => ({
      file: process.execPath,
      args: [
        here("sources/stdio_bridge.mjs"),
        ...[String(port), process.execPath],
        moduleOf("@modelcontextprotocol/server-memory/dist/index.js"),
      ],
    }),
    paths: ["memory.create_entities", "memory.read_graph", "memory.search_nodes"],
    search: ["create entities", "memory.create_entities"],
    describe: ["memory.create_entities", /entityType: string/],
    calls: [
      [
        `tools.memory.create_entities({ entities: [{ name: "Ada", entityType: "person", observations: ["counts"] }] })
          .then(() => tools.memory.search_nodes({ query: "counts" }))
          .then((found) => JSON.stringify(found).includes("Ada"))`,
        true,
      ],
    ],
    fails: [
      `tools.memory.create_entities({ entities: [{ name: "x" }] })`,
      /entityType is required/,
    ],
    slow: "",
  },
  {
    name: "library",
    era: "modern",
    command: (port) => ({
      file: String(python.path),
      args: [here("sources/mcp_server.py"), String(port)],
    }),
    paths: ["library.bind", "library.find_books", "library.lend"],
    search: ["find books", "library.find_books"],
    describe: ["library.find_books", /year: number/],
    calls: [
      [`tools.library.find_books({ since: 1972 })`, { books: [{ title: "Momo", year: 1973 }] }],
      [`tools.library.lend({ title: "Momo" })`, { result: "Momo is yours" }],
    ],
    fails: [`tools.library.lend({ title: "Faust" })`, /Error executing tool lend/],
    slow: `tools.library.bind({ pages: 100 })`,
    missing: python.missing,
  },
];

for (const one of CASES) {
  describe(one.name, { skip: one.missing }, () => {
    /** @type {ReturnType<typeof serve>} */
    let server;
    /** @type {Awaited<ReturnType<typeof start>>} */
    let w;
    let said = "";
    before(async () => {
      const port = await freePort();
      const { file, args, env } = one.command(port);
      server = serve(file, args, { env: childEnv(env) });
      for (const stream of [server.child.stdout, server.child.stderr]) {
        stream.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-20_000)));
      }
      const origin = `http://127.0.0.1:${port}`;
      const until = Date.now() + STARTS_MS;
      for (;;) {
        const up = await fetch(`${origin}/mcp`, { signal: AbortSignal.timeout(2_000) }).then(
          async (answer) => answer.body?.cancel().then(() => true),
          () => false,
        );
        if (up !== false) break;
        assert.ok(Date.now() < until, `${one.name} does not start: ${said}`);
        await sleep(100);
      }
      w = await start({
        vars: { HOLDFAST_SOURCE_HOSTS: `public, ${origin}` },
        outbound: "network",
      });
      const settings = { kind: "mcp", url: `${origin}/mcp` };
      const { body } = await w.json(`/v1/sources/${one.name}`, settings, { method: "PUT" });
      assert.equal(body.state, "ready", JSON.stringify(body) + said);
      assert.equal(body.facts.era, one.era);
    });
    after(async () => {
      await w?.stop();
      await server?.kill();
    });

    test("its tools have typed names", async () => {
      const { body } = await w.json(`/v1/tools?source=${one.name}&limit=50`);
      const paths = body.tools.map((/** @type {any} */ tool) => tool.path);
      for (const path of one.paths) assert.ok(paths.includes(path), `${path}: ${paths}`);
    });

    test("what it can do is found and described", async () => {
      const [query, path] = one.search;
      const run = await w.execute({ code: `return tools.search(params)`, params: { query } });
      assert.equal(run.result?.tools[0].path, path, JSON.stringify(run));
      const [described, type] = one.describe;
      const { body } = await w.json(`/v1/tools/${described}`);
      assert.match(body.typescript, type);
    });

    test("its tools are called", async () => {
      for (const [code, expected] of one.calls) {
        const run = await w.execute(`return ${code}`);
        assert.deepEqual(run.result, expected, `${code}: ${run.error} ${said}`);
      }
    });

    test("what fails says why", async () => {
      const [code, message] = one.fails;
      const run = await w.execute(`return ${code}`);
      assert.equal(run.status, "failed");
      assert.match(run.error, message);
    });

    if (one.slow === "") return;
    test("a slow call ends at its limit, and one that nobody waits for ends with its run", async () => {
      const limits = { dispatchMs: 2_000 };
      const code = `try { await ${one.slow} } catch (error) { return error.code }`;
      const run = await w.execute({ code, limits });
      assert.equal(run.result, "HF_E1603", JSON.stringify(run));
      const left = new AbortController();
      const asked = w.execute(`return ${one.slow}`, { signal: left.signal }).catch(() => undefined);
      await sleep(1_500);
      left.abort();
      await asked;
      const list = async () => (await w.json("/v1/runs?limit=1")).body.runs[0].status;
      for (let waited = 0; (await list()) === "running" && waited < 8_000; waited += 200) {
        await sleep(200);
      }
      assert.equal(await list(), "cancelled");
      const again = await w.json(`/v1/sources/${one.name}/test`, {});
      assert.equal(again.body.ok, true, JSON.stringify(again.body));
    });
  });
}
