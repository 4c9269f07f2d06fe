// Rule: an MCP server of either wire era is connected by its URL, and its tools are found and called by
// typed names; what goes wrong is told with what to do.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sleep, start } from "./harness.mjs";
import { mcpStand, text } from "./mcp_stand.mjs";

const SUM = {
  name: "get-sum",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  annotations: { readOnlyHint: true },
  call: (/** @type {any} */ { a, b }) => ({
    ...text(String(a + b)),
    structuredContent: { sum: a + b },
  }),
};

const TOOLS = [
  SUM,
  {
    name: "echo",
    description: "Says it again.",
    call: (/** @type {any} */ { message }) => text(message),
  },
  {
    name: "picture",
    description: "A picture, and words.",
    call: () => ({
      content: [
        { type: "text", text: "a dot" },
        { type: "image", data: "AQID", mimeType: "image/png" },
      ],
    }),
  },
  { name: "fails", call: () => ({ ...text("no such city"), isError: true }) },
  {
    name: "slow",
    annotations: { idempotentHint: true },
    call: async (/** @type {any} */ _args, /** @type {any} */ { gone, note }) => {
      note({
        method: "notifications/progress",
        params: { progressToken: 1, progress: 1, total: 2 },
      });
      await Promise.race([gone, sleep(15_000)]);
      return text("late");
    },
  },
  { name: "wipe", annotations: { destructiveHint: true }, call: () => text("gone") },
];

for (const era of /** @type {const} */ (["modern", "legacy"])) {
  for (const sse of [false, true]) {
    describe(`${era}, ${sse ? "events" : "json"}`, () => {
      /** @type {Awaited<ReturnType<typeof mcpStand>>} */
      let stand;
      /** @type {Awaited<ReturnType<typeof start>>} */
      let w;
      before(async () => {
        stand = await mcpStand({ era, sse, tools: TOOLS, pageSize: 4 });
        w = await start({
          vars: { HOLDFAST_SOURCE_HOSTS: `public, ${stand.origin}` },
          outbound: "network",
        });
      });
      after(async () => {
        await w?.stop();
        await stand?.stop();
      });
      const put = (/** @type {unknown} */ body, query = "") =>
        w.json(`/v1/sources/calc${query}`, body, { method: "PUT" });
      const value = async (/** @type {string} */ code) => {
        const run = await w.execute(code);
        assert.equal(run.status, "completed", run.error);
        return run.result;
      };

      test("a dry run shows what would be there and keeps nothing", async () => {
        const { status, body } = await put({ kind: "mcp", url: stand.url }, "?dryRun=1");
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal(body.toolCount, TOOLS.length);
        assert.equal(body.facts.era, era);
        assert.deepEqual(body.tools[0].path, "calc.getSum");
        const listed = await w.json("/v1/sources");
        assert.deepEqual(listed.body.sources, []);
      });

      test("it is connected, and its tools are found and described", async () => {
        const { status, body } = await put({ kind: "mcp", url: stand.url });
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal(body.state, "ready");
        assert.equal(body.toolCount, TOOLS.length);
        const found = await value(`return tools.search({ query: "add numbers" })`);
        assert.deepEqual(found.tools[0], {
          path: "calc.getSum",
          description: "Adds two numbers.",
          effect: "reads",
          asks: "never",
        });
        const described = await value(`return tools.describe({ path: "calc.getSum" })`);
        assert.equal(described.source, "calc");
        assert.match(described.typescript, /number/);
        const { body: wipe } = await w.json("/v1/tools/calc.wipe");
        assert.deepEqual([wipe.effect, wipe.asks], ["destroys", "always"]);
      });

      test("a call gives what the tool gave, with its type", async () => {
        assert.deepEqual(await value(`return tools.calc.getSum({ a: 1, b: 2 })`), { sum: 3 });
        assert.deepEqual(await value(`return tools.calc.echo({ message: "grüß" })`), {
          text: "grüß",
        });
        const picture = await value(`
          const { text, content } = await tools.calc.picture();
          return [text, content[1].mimeType, content[1].data instanceof Uint8Array, [...content[1].data]];`);
        assert.deepEqual(picture, ["a dot", "image/png", true, [1, 2, 3]]);
      });

      test("a tool that fails says why, and the program can go on", async () => {
        const got = await value(`
          try { await tools.calc.fails() } catch (error) { return [error.name, error.message, error.tool]; }`);
        assert.deepEqual(got, ["McpError", "no such city", "calc.fails"]);
      });

      test("arguments that do not fit are refused by their path, and nothing is called", async () => {
        const calls = () => stand.heard.filter(({ body }) => body?.method === "tools/call").length;
        const before = calls();
        const got = await value(`
          try { await tools.calc.getSum({ a: "1" }) } catch (error) { return [error.code, error.message]; }`);
        assert.equal(got[0], "HF_E1604");
        assert.match(got[1], /arguments\.a must be a number/);
        assert.match(got[1], /arguments\.b is required/);
        assert.equal(calls(), before);
      });

      test("an unknown path names the nearest", async () => {
        const message = await value(`
          try { await tools.calc.getSums() } catch (error) { return error.message; }`);
        assert.match(message, /no tool calc\.getSums.*calc\.getSum/);
      });

      test("a destructive tool asks a person", async () => {
        const run = await w.execute(`return tools.calc.wipe()`);
        assert.equal(run.status, "waiting_approval", JSON.stringify(run));
      });

      test("a call that takes too long is told upstream", async () => {
        const { hungUp } = stand;
        const run = await w.execute({
          code: `try { await tools.calc.slow() } catch (error) { return error.code; }`,
          limits: { dispatchMs: 2_000 },
        });
        assert.equal(run.result, "HF_E1603", JSON.stringify(run));
        const told = () => (era === "modern" ? stand.hungUp > hungUp : stand.cancelled.length > 0);
        for (let waited = 0; !told() && waited < 3_000; waited += 50) await sleep(50);
        assert.ok(told(), "the server heard nothing");
      });

      test("sessions end with their runs", async () => {
        for (let waited = 0; stand.sessions.size > 1 && waited < 3_000; waited += 50)
          await sleep(50);
        assert.ok(stand.sessions.size <= 1, `${stand.sessions.size} sessions are left`);
      });

      test("a source that is down is told as such, its tools stay", async () => {
        stand.status = 503;
        const { body } = await w.json("/v1/sources/calc/test", {});
        assert.equal(body.ok, false);
        const refreshed = await w.json("/v1/sources/calc/refresh", {});
        assert.equal(refreshed.body.state, "down");
        assert.match(refreshed.body.error.message, /503/);
        assert.equal(refreshed.body.toolCount, TOOLS.length);
        const found = await value(`return tools.search({ query: "add numbers" })`);
        assert.equal(found.tools[0].path, "calc.getSum");
        stand.status = undefined;
        const again = await w.json("/v1/sources/calc/refresh", {});
        assert.equal(again.body.state, "ready");
      });

      test("paths stay when the server's list changes", async () => {
        stand.tools = [{ ...SUM, name: "getSum" }, ...TOOLS.slice(1)];
        await w.json("/v1/sources/calc/refresh", {});
        const { body } = await w.json("/v1/tools?source=calc&limit=50");
        const paths = body.tools.map((/** @type {any} */ tool) => tool.path);
        assert.ok(paths.includes("calc.getSum_2") && !paths.includes("calc.getSum"), String(paths));
        stand.tools = TOOLS;
        await w.json("/v1/sources/calc/refresh", {});
        assert.deepEqual(await value(`return tools.calc.getSum({ a: 2, b: 2 })`), { sum: 4 });
        const [{ n }] = await w.d1("SELECT COUNT(*) AS n FROM tools");
        assert.equal(n, TOOLS.length);
        const [{ words }] = await w.d1("SELECT COUNT(*) AS words FROM tool_words");
        assert.equal(words, TOOLS.length);
      });

      test("deleting it leaves nothing", async () => {
        const { status } = await w.json("/v1/sources/calc", undefined, { method: "DELETE" });
        assert.equal(status, 200);
        for (const table of ["sources", "tools", "tool_words", "tool_paths"]) {
          const [{ n }] = await w.d1(`SELECT COUNT(*) AS n FROM ${table}`);
          assert.equal(n, 0, table);
        }
        const gone = await w.json("/v1/sources/calc");
        assert.equal(gone.status, 404);
      });
    });
  }
}
