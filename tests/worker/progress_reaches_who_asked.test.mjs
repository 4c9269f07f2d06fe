// Rule: how far an upstream says that a call is, reaches the client of our own `tools/call` while it is open, if
// that gave a progress token; also from below a package and under an idempotency key. Nobody else is told.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";
import { mcpStand, text } from "./mcp_stand.mjs";

const STEPS = 8;
/** Reads, so that no person is asked. */
const BIND = {
  name: "bind",
  annotations: { readOnlyHint: true },
  call: async (/** @type {any} */ _args, /** @type {any} */ { note, gone }) => {
    for (let progress = 1; progress <= STEPS; progress += 1) {
      const params = { progressToken: 1, progress, total: STEPS, message: `page ${progress}` };
      note({ method: "notifications/progress", params });
      await Promise.race([gone, sleep(500)]);
    }
    return text("bound");
  },
};
const CALL = `return (await tools.library.bind()).text`;

/** @type {Awaited<ReturnType<typeof mcpStand>>} */
let stand;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  stand = await mcpStand({ sse: true, tools: [BIND] });
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${stand.origin}` },
    outbound: "network",
  });
  const settings = { kind: "mcp", url: stand.url };
  const { body } = await w.json("/v1/sources/library", settings, { method: "PUT" });
  assert.equal(body.state, "ready", JSON.stringify(body));
});
after(async () => {
  await w?.stop();
  await stand?.stop();
});

/**
 * @param {Record<string, unknown>} args of `execute`
 * @param {unknown} [progressToken]
 * @returns {Promise<{result: any, progress: any[]}>}
 */
async function call(args, progressToken) {
  const answer = await w.fetch("/mcp", {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "execute",
        arguments: args,
        ...(progressToken === undefined ? {} : { _meta: { progressToken } }),
      },
    }),
  });
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  const messages = [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
    JSON.parse(data ?? ""),
  );
  return {
    result: messages.pop().result.structuredContent,
    progress: messages.map((message) => {
      assert.equal(message.method, "notifications/progress");
      return message.params;
    }),
  };
}

/** @param {any[]} progress */
function told(progress) {
  const messages = progress.map(({ message }) => message);
  assert.ok(messages.length >= 2 && messages.length <= STEPS, `${messages}`);
  let before = 0;
  for (const { progressToken, progress: now, message } of progress) {
    assert.equal(progressToken, "p1");
    assert.ok(now > before, "it only grows");
    before = now;
    const [, page, again] = /^library\.bind: (\d) of 8: page (\d)$/.exec(message) ?? [];
    assert.equal(page, again, message);
  }
  return messages;
}

test("a client with a token hears how far a call is, in its source's words", async () => {
  const { result, progress } = await call({ code: CALL }, "p1");
  assert.equal(result.result, "bound", JSON.stringify(result));
  const messages = told(progress);
  assert.equal(new Set(messages).size, messages.length, "nothing is said twice");
});

test("a client without one hears nothing", async () => {
  const { result, progress } = await call({ code: CALL });
  assert.equal(result.result, "bound");
  assert.deepEqual(progress, []);
});

test("a run under an idempotency key tells as any other", async () => {
  const { result, progress } = await call({ code: CALL, idempotencyKey: "bind-once" }, "p1");
  assert.equal(result.result, "bound");
  told(progress);
});

test("a call of a package's run is told to whoever called the run above", async () => {
  const modules = { "main.js": `export async function bind() { ${CALL} }` };
  const saved = await w.json("/v1/packages/binder", { modules }, { method: "PUT" });
  assert.ok(saved.status < 300, JSON.stringify(saved.body));
  const code = `return packages.invoke("binder/bind", {})`;
  const { result, progress } = await call({ code }, "p1");
  assert.equal(result.result, "bound", JSON.stringify(result));
  told(progress);
});
