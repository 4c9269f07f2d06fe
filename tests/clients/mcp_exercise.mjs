// What every client must be able to do, whatever its language, SDK or era.
import assert from "node:assert/strict";
import { isStandIn } from "./server.mjs";

/**
 * The part of a client that is used here; both TypeScript SDKs have it.
 *
 * @typedef {object} Client
 * @property {() => Promise<{tools: {name: string, description?: string, outputSchema?: unknown}[]}>} listTools
 * @property {(name: string, args: Record<string, unknown>) => Promise<any>} callTool
 */

/** A program that calls a tool in a loop. */
export const STORAGE_LOOP = `
  for (let n = 1; n <= 5; n += 1) {
    const { value = 0 } = await tools.storage.get({ key: "sum" });
    await tools.storage.set({ key: "sum", value: value + n });
  }
  const { value } = await tools.storage.get({ key: "sum" });
  await tools.storage.delete({ key: "sum" });
  return value;
`;

/**
 * Lists the tools, runs programs of every ending and gives wrong arguments. The SDKs check each
 * structured result against the output schema of its tool, so this does, too.
 *
 * @param {Client} client
 */
export async function exercise(client) {
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    [
      ...["execute", "run_get", "run_list", "package_list", "package_invoke", "resume"],
      ...["tool_search", "tool_describe", "service_start", "service_stop", "service_status"],
      ...["run_rollback", "workflow_create", "workflow_run_list", "workflow_cancel"],
      ...["schedule_put", "schedule_list", "schedule_pause", "schedule_run", "schedule_delete"],
    ],
    "the tools, in the order in which they are listed",
  );
  for (const { name, outputSchema } of tools) assert.ok(outputSchema, `${name} has a schema`);

  const one = await client.callTool("execute", { code: "return 1" });
  assert.ok(!one.isError, textOf(one));
  assert.equal(one.structuredContent.status, "completed");
  assert.equal(one.structuredContent.result, 1);
  assert.deepEqual(JSON.parse(textOf(one)), one.structuredContent, "the text is the same JSON");

  const boom = await client.callTool("execute", { code: 'throw new Error("boom")' });
  assert.equal(boom.isError, true);
  const { errorDetails, status } = boom.structuredContent;
  assert.equal(status, "failed");
  assert.equal(errorDetails.kind, "runtime_error");
  const [first, , next] = textOf(boom).split("\n");
  assert.match(first ?? "", /^Error: .*boom/);
  assert.equal(next, `Next step: ${errorDetails.nextStep}`);

  // Open for longer than a second, so it is streamed.
  const late = await client.callTool("execute", { code: 'await sleep(2500); return "late"' });
  assert.equal(late.structuredContent.result, "late");

  const wrong = await client.callTool("execute", { program: "return 1" });
  assert.equal(wrong.isError, true);
  assert.match(textOf(wrong), /^Error: code: is required; program: is not an argument of execute/);
  assert.equal(wrong.structuredContent.errorDetails.kind, "invalid_request");

  const gone = await client.callTool("run_get", { runId: "no-such-run" });
  assert.equal(gone.isError, true);
  assert.equal(gone.structuredContent.errorDetails.kind, "not_found");

  await assert.rejects(client.callTool("no_such_tool", {}), /no_such_tool/);

  if (isStandIn) return;
  const sum = await client.callTool("execute", { code: STORAGE_LOOP });
  assert.equal(sum.structuredContent.result, 15, textOf(sum));
  const again = await client.callTool("run_get", { runId: sum.structuredContent.id });
  assert.equal(again.structuredContent.result, 15);
  const list = await client.callTool("run_list", { limit: 1 });
  assert.equal(list.structuredContent.runs[0].id, sum.structuredContent.id);
}

/**
 * The text of a result.
 *
 * @param {{content: {type: string, text: string}[]}} result
 */
export function textOf({ content }) {
  assert.equal(content[0]?.type, "text");
  return /** @type {{text: string}} */ (content[0]).text;
}
