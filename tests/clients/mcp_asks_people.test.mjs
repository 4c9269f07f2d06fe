// The TypeScript SDK 2 asks its person to open the address of an approval, comes back to its call with
// the state, and gets the outcome from that one call; without an address to open, it gets the run
// that waits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { noSandbox, serverOf } from "./server.mjs";

const PROGRAM = {
  name: "execute",
  arguments: {
    code: `for (const key of ["a", "b"]) await tools.storage.delete({ key });
           return "both"`,
  },
};

/** @param {import("node:test").TestContext} t */
async function people(t) {
  const { url, mcp, token } = await serverOf(t);
  const name = `clients-${Date.now()}`;
  /** @param {string} place @param {unknown} body @param {string} bearer @param {string} [method] */
  const json = async (place, body, bearer, method = "POST") => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${bearer}` };
    const init = { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(new URL(place, url), init);
    assert.ok(answer.ok, `${place}: ${answer.status}`);
    return answer.json();
  };
  /** @param {string[]} scopes */
  const made = async (scopes) =>
    (await json("/v1/tokens", { label: "t", principal: name, scopes }, token)).token;
  const [agent, person, rules] = [
    await made(["execute"]),
    await made(["approve"]),
    await made(["policies"]),
  ];
  const ask = { rules: [{ pattern: "storage.delete", action: "ask" }] };
  await json("/v1/policies", ask, rules, "PUT");
  /** @param {string} address of an approval @param {string} decision */
  const decide = (address, decision) =>
    json(`/v1/approvals/${address.split("/").pop()}`, { decision }, person);
  return { mcp, agent, decide };
}

/**
 * @param {import("node:test").TestContext} t
 * @param {URL} mcp
 * @param {string} token
 * @param {import("@modelcontextprotocol/client").ClientCapabilities} capabilities
 */
async function connect(t, mcp, token, capabilities) {
  const client = new Client(
    { name: "holdfast-tests", version: "1" },
    { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(mcp, { requestInit });
  t.after(() => client.close());
  return { client, open: () => client.connect(transport) };
}

test("one call of a client that opens addresses", { skip: noSandbox }, async (t) => {
  const { mcp, agent, decide } = await people(t);
  const { client, open } = await connect(t, mcp, agent, { elicitation: { form: {}, url: {} } });
  /** @type {string[]} */
  const opened = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    assert.equal(params.mode, "url");
    const address = /** @type {{url: string}} */ (/** @type {unknown} */ (params)).url;
    opened.push(address);
    // The person takes longer than the client does to come back.
    setTimeout(() => void decide(address, "allow"), 1500);
    return { action: "accept" };
  });
  await open();
  const result = await client.callTool(PROGRAM);
  const run = /** @type {any} */ (result.structuredContent);
  assert.equal(run.status, "completed", JSON.stringify(result));
  assert.equal(run.result, "both");
  assert.equal(new Set(opened).size, 2, "each question was asked once");
  assert.equal(opened.length, 2);
});

test("a person who does not look leaves the run waiting", { skip: noSandbox }, async (t) => {
  const { mcp, agent, decide } = await people(t);
  const { client, open } = await connect(t, mcp, agent, { elicitation: { url: {} } });
  client.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));
  await open();
  const waiting = /** @type {any} */ ((await client.callTool(PROGRAM)).structuredContent);
  assert.equal(waiting.status, "waiting_approval", JSON.stringify(waiting));
  await decide(waiting.approvals[0].approveUrl, "decline");
  const resume = { name: "resume", arguments: { runId: waiting.id } };
  const ended = /** @type {any} */ ((await client.callTool(resume)).structuredContent);
  assert.equal(ended.errorDetails.kind, "approval_declined", JSON.stringify(ended));
});

test("a client without addresses gets the run that waits", { skip: noSandbox }, async (t) => {
  const { mcp, agent } = await people(t);
  const { client, open } = await connect(t, mcp, agent, { elicitation: { form: {} } });
  client.setRequestHandler("elicitation/create", async () => assert.fail("nothing is asked"));
  await open();
  const waiting = /** @type {any} */ ((await client.callTool(PROGRAM)).structuredContent);
  assert.equal(waiting.status, "waiting_approval", JSON.stringify(waiting));
});
