// A call that stays open beats once a second, in a form that its client takes, and hanging up
// cancels its run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noSandbox, serverOf } from "./server.mjs";

const TIMEOUT_MS = 30_000;

/**
 * Posts one legacy request.
 *
 * @param {{mcp: URL, token: string}} server
 * @param {string} name
 * @param {Record<string, unknown>} args
 * @param {{accept?: string, signal?: AbortSignal}} [options]
 */
function call({ mcp, token }, name, args, { accept = "*/*", signal } = {}) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  return fetch(mcp, {
    method: "POST",
    headers: { accept, authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    }),
    signal: signal ? AbortSignal.any([limit, signal]) : limit,
  });
}

const LATE = { code: 'await sleep(3500); return "late"' };

test("an open call beats with comments on a stream", async (t) => {
  const answer = await call(await serverOf(t), "execute", LATE);
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  const [, beats, message] =
    /^((?:: \n\n)+)event: message\ndata: (.*)\n\n$/.exec(await answer.text()) ?? [];
  assert.ok((beats ?? "").length / ": \n\n".length >= 2, "two beats at least");
  assert.equal(JSON.parse(message ?? "").result.structuredContent.result, "late");
});

test("an open call beats with white space for a client that takes JSON only", async (t) => {
  const accept = "application/json";
  const answer = await call(await serverOf(t), "execute", LATE, { accept });
  assert.equal(answer.headers.get("content-type"), accept);
  const text = await answer.text();
  assert.match(text, /^ {2,}\{/);
  assert.equal(JSON.parse(text).result.structuredContent.result, "late");
});

test("a quick call is plain JSON", async (t) => {
  const answer = await call(await serverOf(t), "execute", { code: "return 1" });
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.equal((await answer.json()).result.structuredContent.result, 1);
});

test("hanging up cancels the run", { skip: noSandbox }, async (t) => {
  const server = await serverOf(t);
  const label = `hang-up ${Date.now()}`;
  const hangUp = new AbortController();
  const code = "await sleep(60000)";
  const answer = await call(server, "execute", { code, label }, { signal: hangUp.signal });
  assert.equal(answer.headers.get("content-type"), "text/event-stream", "it is open");
  hangUp.abort();

  const end = Date.now() + TIMEOUT_MS;
  for (;;) {
    const listed = await (await call(server, "run_list", { limit: 1 })).json();
    const [run] = listed.result.structuredContent.runs;
    if (run.status === "cancelled") break;
    assert.ok(Date.now() < end, `the run is still ${run.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
