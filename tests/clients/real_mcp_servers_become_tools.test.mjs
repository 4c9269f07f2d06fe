// MCP servers that nobody here wrote, on loopback, are connected, searched, described, called; they fail, are
// slow and are cancelled: the official "everything", "filesystem" and "memory" servers, and one of the Python SDK.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pythonWithMcp } from "../../scripts/lib/needs.mjs";
import { ADMIN_TOKEN, start } from "../worker/harness.mjs";
import { endsSlowCalls, here, moduleOf, upstream } from "./sources/upstream.mjs";

const python = await pythonWithMcp();

/** What the filesystem server may see. Nobody ever writes to `pipe`, so who reads it waits. */
const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-files-")));
after(() => fs.rmSync(folder, { recursive: true }));
fs.writeFileSync(path.join(folder, "a.txt"), "grüß\n");
execFileSync("mkfifo", [path.join(folder, "pipe")]);
const file = (/** @type {string} */ name) => JSON.stringify(path.join(folder, name));

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
 * @property {[call: string, told: RegExp]} [progress] a call that tells how far it is, and how
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
    progress: [
      `tools.everything.triggerLongRunningOperation({ duration: 4, steps: 8 })`,
      /^everything\.triggerLongRunningOperation: \d of 8/,
    ],
    slow: `tools.everything.triggerLongRunningOperation({ duration: 10, steps: 20 })`,
  },
  {
    name: "memory",
    era: "legacy",
    command: (port) => ({
      file: process.execPath,
      args: [
        here("stdio_bridge.mjs"),
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
    name: "filesystem",
    era: "legacy",
    command: (port) => ({
      file: process.execPath,
      args: [
        here("stdio_bridge.mjs"),
        ...[String(port), process.execPath],
        moduleOf("@modelcontextprotocol/server-filesystem/dist/index.js"),
        folder,
      ],
    }),
    paths: ["filesystem.read_text_file", "filesystem.write_file", "filesystem.list_directory"],
    search: ["read a text file", "filesystem.read_text_file"],
    describe: ["filesystem.edit_file", /oldText: string/],
    calls: [
      [`tools.filesystem.read_text_file({ path: ${file("a.txt")} })`, { content: "grüß\n" }],
      [
        `tools.filesystem.search_files({ path: ${file("")}, pattern: "a.*" })
          .then(({ content }) => content)`,
        path.join(folder, "a.txt"),
      ],
    ],
    fails: [
      `tools.filesystem.read_text_file({ path: "/etc/passwd" })`,
      /path outside allowed directories/,
    ],
    slow: `tools.filesystem.read_text_file({ path: ${file("pipe")} })`,
  },
  {
    name: "library",
    era: "modern",
    command: (port) => ({
      file: String(python.path),
      args: [here("mcp_server.py"), String(port)],
    }),
    paths: ["library.bind", "library.find_books", "library.lend"],
    search: ["find books", "library.find_books"],
    describe: ["library.find_books", /year: number/],
    calls: [
      [`tools.library.find_books({ since: 1972 })`, { books: [{ title: "Momo", year: 1973 }] }],
      [`tools.library.lend({ title: "Momo" })`, { result: "Momo is yours" }],
    ],
    fails: [`tools.library.lend({ title: "Faust" })`, /Error executing tool lend/],
    progress: [`tools.library.bind({ pages: 15 })`, /^library\.bind: \d+ of 15$/],
    slow: `tools.library.bind({ pages: 100 })`,
    missing: python.missing,
  },
];

for (const one of CASES) {
  describe(one.name, { skip: one.missing }, () => {
    /** @type {Awaited<ReturnType<typeof upstream>>} */
    let server;
    /** @type {Awaited<ReturnType<typeof start>>} */
    let w;
    before(async () => {
      server = await upstream(one.command, "/mcp");
      w = await start({
        vars: { HOLDFAST_SOURCE_HOSTS: `public, ${server.origin}` },
        outbound: "network",
      });
      const settings = { kind: "mcp", url: `${server.origin}/mcp` };
      const { body } = await w.json(`/v1/sources/${one.name}`, settings, { method: "PUT" });
      assert.equal(body.state, "ready", JSON.stringify(body) + server.said());
      assert.equal(body.facts.era, one.era);
    });
    after(async () => {
      await w?.stop();
      await server?.stop();
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
        assert.deepEqual(run.result, expected, `${code}: ${run.error} ${server.said()}`);
      }
    });

    test("what fails says why", async () => {
      const [code, message] = one.fails;
      const run = await w.execute(`return ${code}`);
      assert.equal(run.status, "failed");
      assert.match(run.error, message);
    });

    const { slow } = one;
    if (slow !== "") {
      test("a slow call ends at its limit, and one that nobody waits for ends with its run", async () => {
        await endsSlowCalls(w, slow);
        const again = await w.json(`/v1/sources/${one.name}/test`, {});
        assert.equal(again.body.ok, true, JSON.stringify(again.body));
      });
    }

    const { progress } = one;
    if (progress === undefined) return;

    test("an official client hears how far a call is", async () => {
      const [call, message] = progress;
      const client = new Client({ name: "tests", version: "1" });
      const authorization = `Bearer ${ADMIN_TOKEN}`;
      await client.connect(
        new StreamableHTTPClientTransport(new URL("/mcp", w.url), {
          requestInit: { headers: { authorization } },
        }),
      );
      /** @type {string[]} */
      const told = [];
      const params = { name: "execute", arguments: { code: `return ${call}` } };
      await client.callTool(params, undefined, {
        onprogress: (heard) => void told.push(heard.message ?? ""),
      });
      await client.close();
      assert.ok(told.length >= 2, `${told}`);
      for (const heard of told) assert.match(heard, message);
    });
  });
}
