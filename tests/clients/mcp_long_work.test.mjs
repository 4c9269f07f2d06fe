// An agent whose program timed out does what the next step says, word by word, and gets its work done:
// every name in the text is a tool or a name that exists, and nothing that it needs is left out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ADMIN_TOKEN, start, until } from "../worker/harness.mjs";
import { textOf } from "./mcp_exercise.mjs";

/** Three seconds of work, where `execute` has one. */
const WORK = `
  let n = 0;
  for (const until = performance.now() + 3000; performance.now() < until; n++) await sleep(20);
  return { worked: n > 0, given: params.given };
`;

/** @param {import("node:test").TestContext} t */
async function connect(t) {
  const worker = await start({ vars: { HOLDFAST_BUDGET_EXECUTE_MS: "1000" } });
  t.after(() => worker.stop());
  const client = new Client({ name: "holdfast-tests", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } };
  const url = new URL("/mcp", worker.url);
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(/** @type {any} */ (transport));
  t.after(() => client.close());
  const { tools } = await client.listTools();
  return {
    /** The tools by name. */
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    /** @param {string} name @param {Record<string, unknown>} args @returns {Promise<any>} */
    call: (name, args) => client.callTool({ name, arguments: args }),
  };
}

/**
 * Lists with `tool` until the workflow has ended, and gives its result.
 *
 * @param {Awaited<ReturnType<typeof connect>>} agent
 * @param {string} tool
 * @param {string} id
 */
async function follow(agent, tool, id) {
  const ended = await until(
    "the workflow",
    async () => {
      const { workflows } = (await agent.call(tool, {})).structuredContent;
      const found = workflows.find((/** @type {any} */ one) => one.id === id);
      assert.ok(found, "it is on the list");
      return ["completed", "failed", "cancelled"].includes(found.status) && found;
    },
    30_000,
  );
  assert.equal(ended.status, "completed");
  return (await agent.call("run_get", { runId: id })).structuredContent.result;
}

test("the next step of a timed-out program leads to its result", async (t) => {
  const agent = await connect(t);
  const params = { given: 7 };
  const late = await agent.call("execute", { code: WORK, params });
  assert.equal(late.structuredContent.errorDetails.code, "HF_E1302", textOf(late));
  const { nextStep } = late.structuredContent.errorDetails;
  const create = /Submit long work with (workflows\.create)\((\{[^)]*\})\) of (\S+)/.exec(nextStep);
  const followed = /follow it with (\w+)/.exec(nextStep);
  assert.ok(create !== null && followed !== null, nextStep);
  const [, call = "", argument, module] = create;
  const program = `
    import { ${call.split(".")[0]} } from "${module}";
    const { code, params: given } = params;
    return await ((params) => ${call}(${argument}))(given);
  `;
  const made = await agent.call("execute", { code: program, params: { code: WORK, params } });
  assert.equal(made.structuredContent.status, "completed", textOf(made));
  const tool = followed[1] ?? "";
  assert.ok(agent.tools.has(tool), `${tool} is listed`);
  const result = await follow(agent, tool, made.structuredContent.result.id);
  assert.deepEqual(result, { worked: true, given: 7 });
});

test("what execute says of longer work leads to its result", async (t) => {
  const agent = await connect(t);
  const text = agent.tools.get("execute")?.description ?? "";
  const said = /goes to (\w+)\(\{ code, params \}\).*follow it with (\w+) and (\w+)\./s.exec(text);
  assert.ok(said !== null, text);
  const [, create = "", list = "", get = ""] = said;
  for (const name of [create, list, get]) assert.ok(agent.tools.has(name), `${name} is listed`);
  const key = { idempotencyKey: "long-work" };
  const made = await agent.call(create, { code: WORK, params: { given: 8 }, ...key });
  assert.ok(!made.isError, textOf(made));
  const { id } = made.structuredContent;
  const again = await agent.call(create, { code: WORK, params: { given: 8 }, ...key });
  assert.equal(again.structuredContent.id, id, "the same key gives the same workflow");
  assert.deepEqual(await follow(agent, list, id), { worked: true, given: 8 });
  const asleep = await agent.call(create, { code: `await sleep("2h")` });
  const cancelled = await agent.call("workflow_cancel", { runId: asleep.structuredContent.id });
  assert.equal(cancelled.structuredContent.status, "cancelled", textOf(cancelled));
  const refused = await agent.call(create, { code: "return (" });
  assert.equal(refused.isError, true);
  assert.equal(refused.structuredContent.errorDetails.kind, "syntax_error");
});
