// The TypeScript SDK 1, which knows only the legacy era, lists the tools and runs programs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { exercise } from "./mcp_exercise.mjs";
import { serverOf } from "./server.mjs";

/**
 * @param {URL} url
 * @param {string} token
 */
async function connect(url, token) {
  const client = new Client({ name: "holdfast-tests", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(/** @type {any} */ (transport));
  return client;
}

test("the TypeScript SDK 1 lists the tools and runs programs", async (t) => {
  const { mcp, token } = await serverOf(t);
  const client = await connect(mcp, token);
  t.after(() => client.close());
  assert.equal(client.getServerVersion()?.name, "holdfast");
  await client.ping();
  await exercise({
    listTools: () => client.listTools(),
    callTool: (name, args) => client.callTool({ name, arguments: args }),
  });
});

test("the TypeScript SDK 1 is told that its token does not do", async (t) => {
  const { mcp } = await serverOf(t);
  await assert.rejects(connect(mcp, "not-the-token"), { code: 401, message: /HF_E1502/ });
});
