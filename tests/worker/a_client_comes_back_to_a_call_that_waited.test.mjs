// Rule: a modern MCP client that can open an address is asked to have a person decide, and comes back
// with a state that is signed, counts once, and holds for its principal, its call and a time. What the
// client says decides nothing. Every other client is answered with the run that waits.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { SECRETS, sleep, start } from "./harness.mjs";
import { principal } from "./people.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

const URL_MODE = { elicitation: { form: {}, url: {} } };
const DELETES = { code: `await tools.storage.delete({ key: "a" }); return "done"` };

let id = 0;

/**
 * @param {{agent: string}} p
 * @param {Record<string, unknown>} params
 * @param {{capabilities?: unknown, legacy?: boolean, accept?: string}} [options]
 * @returns {Promise<any>} the message
 */
async function call(p, params, { capabilities = URL_MODE, legacy = false, accept } = {}) {
  const name = String(params.name ?? "execute");
  const meta = legacy
    ? {}
    : {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
      };
  const message = {
    jsonrpc: "2.0",
    id: ++id,
    method: "tools/call",
    params: { name, arguments: DELETES, ...params, ...meta },
  };
  const answer = await w.fetch("/mcp", {
    method: "POST",
    token: p.agent,
    timeoutMs: 60_000,
    body: JSON.stringify(message),
    headers: {
      "content-type": "application/json",
      accept: accept ?? "application/json, text/event-stream",
      "mcp-protocol-version": legacy ? "2025-11-25" : "2026-07-28",
      ...(legacy ? {} : { "mcp-method": "tools/call", "mcp-name": name }),
    },
  });
  assert.equal(answer.status, 200);
  const text = await answer.text();
  const streamed = answer.headers.get("content-type") === "text/event-stream";
  const json = streamed ? (text.match(/^data: (.*)$/m)?.[1] ?? "") : text;
  const beats = text.split("\n").filter((line) => line.startsWith(":")).length;
  return { ...JSON.parse(json), beats };
}

/** @param {any} answer @param {string} [action] */
function back({ result }, action = "accept") {
  const keys = Object.keys(result.inputRequests);
  return {
    requestState: result.requestState,
    inputResponses: Object.fromEntries(keys.map((key) => [key, { action }])),
  };
}

/** @param {any} answer */
const refusal = ({ error }) => [error?.code, error?.data?.code, error?.data?.reason];

const UNKNOWN = [-32602, "HF_E1405", "unknown"];

test("a person decides at the address, and the call goes on to the outcome", async () => {
  const p = await principal(w);
  const asked = await call(p, {});
  assert.equal(asked.result.resultType, "input_required", JSON.stringify(asked));
  const [[key, request]] = Object.entries(asked.result.inputRequests);
  assert.equal(request.method, "elicitation/create");
  assert.equal(request.params.mode, "url");
  assert.equal(request.params.url, `${w.url}/approvals/${key}`);
  assert.match(request.params.message, /storage\.delete/);
  assert.equal((await p.approvals())[0].id, key);

  const going = call(p, back(asked));
  await sleep(2500);
  assert.equal((await p.decide(key, "allow")).status, 200);
  const ended = await going;
  assert.equal(ended.result.resultType, "complete", JSON.stringify(ended));
  assert.equal(ended.result.structuredContent.result, "done");
  assert.equal(ended.result.isError, false);
  assert.ok(ended.beats >= 1, "a wait has beats");
  const runs = (await w.json("/v1/runs", undefined, { token: p.agent })).body.runs;
  assert.equal(runs.length, 1, "the program was not run anew");
});

test("two gates are two rounds of one call", async () => {
  const p = await principal(w);
  const args = {
    arguments: {
      code: `for (const key of ["a", "b"]) await tools.storage.delete({ key }); return "both"`,
    },
  };
  const first = await call(p, args);
  await p.decide(Object.keys(first.result.inputRequests)[0] ?? "", "allow");
  const second = await call(p, { ...args, ...back(first) });
  assert.equal(second.result.resultType, "input_required", JSON.stringify(second));
  assert.notEqual(second.result.requestState, first.result.requestState);
  await p.decide(Object.keys(second.result.inputRequests)[0] ?? "", "decline", "not that one");
  const ended = await call(p, { ...args, ...back(second) });
  assert.equal(ended.result.isError, true, JSON.stringify(ended));
  assert.match(ended.result.content[0].text, /not that one/);
});

test("a client's word decides nothing: declined, put off or missing", async () => {
  const p = await principal(w);
  for (const action of ["decline", "cancel"]) {
    const asked = await call(p, {});
    const answered = await call(p, back(asked, action));
    assert.equal(answered.result.resultType, "complete", JSON.stringify(answered));
    assert.equal(answered.result.structuredContent.status, "waiting_approval");
    assert.match(answered.result.content[0].text, /call resume with runId/);
  }
  const asked = await call(p, {});
  const again = await call(p, { requestState: asked.result.requestState });
  assert.equal(again.result.resultType, "input_required", JSON.stringify(again));
  const form = { action: "accept", content: { decision: "allow" } };
  const key = Object.keys(again.result.inputRequests)[0] ?? "";
  const filled = call(p, {
    requestState: again.result.requestState,
    inputResponses: { [key]: form },
  });
  await sleep(1500);
  assert.equal((await p.approvals()).length, 3, "nobody has decided");
  await p.decide(key, "decline");
  assert.equal((await filled).result.isError, true);
});

test("a state counts once", async () => {
  const p = await principal(w);
  const asked = await call(p, {});
  await p.decide(Object.keys(asked.result.inputRequests)[0] ?? "", "allow");
  const answers = await Promise.all([call(p, back(asked)), call(p, back(asked))]);
  const refused = answers.filter(({ error }) => error);
  assert.equal(refused.length, 1, JSON.stringify(answers));
  assert.deepEqual(refusal(refused[0]), [-32602, "HF_E1405", "used"]);
  const ended = answers.find(({ result }) => result);
  assert.equal(refused[0].error.data.runId, ended.result.structuredContent.id);
  assert.equal(ended.result.structuredContent.result, "done");
});

test("a forged, foreign or altered state is refused, and starts nothing", async () => {
  const [p, other] = [await principal(w), await principal(w)];
  const asked = await call(p, {});
  const { requestState, inputResponses } = back(asked);
  const later = requestState.replace(/^v1\.(\d)/, "v1.9$1");
  for (const forged of ["v1.a.b", "", later, `${requestState}0`, requestState.slice(1)]) {
    const answer = await call(p, { requestState: forged, inputResponses });
    assert.deepEqual(refusal(answer), UNKNOWN, forged);
  }
  assert.deepEqual(refusal(await call(other, back(asked))), UNKNOWN, "another principal");
  const code = { arguments: { code: `return "another program"` } };
  assert.deepEqual(refusal(await call(p, { ...code, ...back(asked) })), UNKNOWN, "another call");
  const tool = { name: "run_list", arguments: {} };
  assert.deepEqual(refusal(await call(p, { ...tool, ...back(asked) })), UNKNOWN, "another tool");
  const runs = (await w.json("/v1/runs", undefined, { token: other.agent })).body.runs;
  assert.deepEqual(runs, []);
  const mine = (await w.json("/v1/runs", undefined, { token: p.agent })).body.runs;
  assert.equal(mine.length, 1);
  // None of it has used the state up.
  await p.decide(Object.keys(inputResponses)[0] ?? "", "allow");
  assert.equal((await call(p, back(asked))).result.structuredContent.result, "done");
});

test("a state that has had its time is refused, and names the run to go on with", async () => {
  const p = await principal(w);
  const asked = await call(p, {});
  const { requestState, inputResponses } = back(asked);
  /** @param {number} at */
  const expiring = (at) => {
    const text = requestState.replace(/^v1\.\d+/, `v1.${at}`).replace(/\.[0-9a-f]+$/, "");
    const hmac = createHmac("sha256", SECRETS.HOLDFAST_SIGNING_KEY);
    const signed = hmac.update(`requestState v1\n${p.name}\n${text}`).digest("hex");
    return { requestState: `${text}.${signed}`, inputResponses };
  };
  const past = await call(p, expiring(Date.now() - 1));
  assert.deepEqual(refusal(past), [-32602, "HF_E1405", "expired"]);
  await p.decide(Object.keys(inputResponses)[0] ?? "", "allow");
  const resume = { name: "resume", arguments: { runId: past.error.data.runId } };
  assert.equal((await call(p, resume)).result.structuredContent.result, "done");
  // The same way with time left is taken: the test signs as the worker does.
  const left = await call(p, expiring(Date.now() + 60_000));
  assert.equal(left.result.structuredContent.result, "done", JSON.stringify(left));
});

test("clients that open no addresses get the run that waits", async () => {
  const p = await principal(w);
  for (const options of [
    { capabilities: {} },
    { capabilities: { elicitation: {} } },
    { capabilities: { elicitation: { form: {} } } },
    { legacy: true },
  ]) {
    const answer = await call(p, {}, options);
    const run = answer.result.structuredContent;
    assert.equal(run.status, "waiting_approval", JSON.stringify(answer));
    assert.equal(answer.result.isError, false);
    assert.notEqual(answer.result.resultType, "input_required");
    await p.decide(run.approvals[0].id, "allow");
    const resumed = await call(p, { name: "resume", arguments: { runId: run.id } }, options);
    assert.equal(resumed.result.structuredContent.result, "done", JSON.stringify(resumed));
  }
});

test("resume waits with beats", async () => {
  const p = await principal(w);
  const run = await p.run(DELETES.code);
  const waiting = call(p, { name: "resume", arguments: { runId: run.id } });
  await sleep(2500);
  await p.decide(run.approvals[0].id, "allow");
  const ended = await waiting;
  assert.equal(ended.result.structuredContent.result, "done", JSON.stringify(ended));
  assert.ok(ended.beats >= 1);
});

test("an invocation of a package is asked about in the same way", async () => {
  const p = await principal(w);
  const scopes = ["packages"];
  const made = await w.json("/v1/tokens", { label: "t", principal: p.name, scopes });
  const saved = await w.json(
    "/v1/packages/gate",
    {
      modules: {
        "main.js": `export async function go() { await tools.storage.delete({ key: "a" }); return 7; }`,
      },
    },
    { method: "PUT", token: made.body.token },
  );
  assert.ok(saved.status < 300, JSON.stringify(saved.body));
  const invoke = { name: "package_invoke", arguments: { name: "gate/go" } };
  const asked = await call(p, invoke);
  assert.equal(asked.result.resultType, "input_required", JSON.stringify(asked));
  const [[key, request]] = Object.entries(asked.result.inputRequests);
  assert.equal(request.params.url, `${w.url}/approvals/${key}`);
  await p.decide(key, "allow");
  const ended = await call(p, { ...invoke, ...back(asked) });
  assert.equal(ended.result.structuredContent.result, 7, JSON.stringify(ended));
});
