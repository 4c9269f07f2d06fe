// Rule: what is asked under an idempotency key is done once. Whoever repeats the request gets the
// same bytes, whoever sends another one under the key is refused, and callers that come at once,
// over whatever copy of the worker, share one run.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({ copies: 2, vars: { HOLDFAST_LEDGER_RETENTION_MS: "1000" } });
});
after(() => w.stop());

/**
 * @param {string} key
 * @param {unknown} body
 * @param {{copy?: number, token?: string}} [options]
 */
async function post(key, body, { copy = 0, ...init } = {}) {
  const client = w.copies[copy];
  assert.ok(client);
  const answer = await client.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
  // The beats of an answer that took its time are none of it.
  const text = (await answer.text()).trimStart();
  const replayed = answer.headers.get("idempotency-replayed");
  return { status: answer.status, headers: answer.headers, text, replayed, body: JSON.parse(text) };
}

const COUNT = `
  const { value = 0 } = await tools.storage.get({ key: params.key });
  await tools.storage.set({ key: params.key, value: value + 1 });
  return value + 1;`;

test("a repeated request gets the same bytes, marked by a header only", async () => {
  const first = await post("k1", { code: COUNT, params: { key: "k1" } });
  assert.equal(first.body.result, 1, first.text);
  assert.equal(first.replayed, null);
  const spelled = `{ "params": {"key":"k1"}, "code": ${JSON.stringify(COUNT)} }`;
  for (const copy of [0, 1]) {
    const again = await post("k1", spelled, { copy });
    assert.equal(again.status, 200);
    // White space before it says that the connection is alive while a slow run is open.
    assert.equal(again.text.trimStart(), first.text.trimStart());
    assert.equal(again.replayed, "true");
  }
  const runs = await w.d1("SELECT id FROM runs WHERE id = ?", first.body.id);
  assert.equal(runs.length, 1);
});

test("another payload under the key is refused, whatever differs", async () => {
  const request = { code: "return params.a", params: { a: 1 }, label: "one", budgetMs: 5000 };
  await post("k2", request);
  const others = [{ code: "return 2" }, { params: { a: 2 } }, { label: "two" }, { budgetMs: 4000 }];
  for (const other of others) {
    const answer = await post("k2", { ...request, ...other });
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.body.error.code, "HF_E1010");
    assert.equal(answer.replayed, null);
  }
});

test("a failure is an answer too", async () => {
  const first = await post("k3", { code: "throw new RangeError(`at ${Date.now()}`)" });
  assert.equal(first.body.status, "failed");
  const again = await post("k3", { code: "throw new RangeError(`at ${Date.now()}`)" });
  assert.deepEqual([again.text, again.replayed], [first.text, "true"]);
});

test("a request that is refused leaves its key free", async () => {
  const refused = await post("k4", { code: "return 1", budgetMs: 0 });
  assert.equal(refused.status, 400);
  assert.deepEqual(await w.d1("SELECT * FROM ledger WHERE key = 'k4'"), []);
  assert.equal((await post("k4", { code: "return 1" })).body.result, 1);
});

test("a key that is none is refused and nothing is run", async () => {
  const before = (await w.d1("SELECT COUNT(*) AS n FROM runs"))[0].n;
  for (const key of ["", " ", "a".repeat(256), "a\tb"]) {
    const answer = await post(key, { code: "return 1" });
    assert.equal(answer.status, 400, JSON.stringify(key));
    assert.equal(answer.body.error.field, "Idempotency-Key");
  }
  assert.equal((await w.d1("SELECT COUNT(*) AS n FROM runs"))[0].n, before);
  assert.equal((await post("a".repeat(255), { code: "return 1" })).status, 200);
});

test("the key of one principal is nothing to another", async () => {
  const made = await w.json("/v1/tokens", { label: "b", scopes: ["execute"], principal: "ben" });
  const mine = await post("k5", { code: "return 'mine'" });
  const theirs = await post("k5", { code: "return 'theirs'" }, { token: made.body.token });
  assert.deepEqual([mine.body.result, theirs.body.result], ["mine", "theirs"]);
});

test("an owner at work is waited for a second; then 409 says when to come again", async () => {
  const program = { code: "await sleep(4000); return Math.random()" };
  const first = post("k6", program);
  await sleep(500);
  const early = await post("k6", program, { copy: 1 });
  assert.equal(early.status, 409, early.text);
  assert.equal(early.body.error.code, "HF_E1011");
  assert.match(early.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  const { text } = await first;
  assert.equal((await post("k6", program)).text, text.trimStart());
});

test("an owner that ends within the second is answered from", async () => {
  const program = { code: "await sleep(600); return Math.random()" };
  const [first, second] = await Promise.all([post("k7", program), post("k7", program)]);
  assert.equal(first.text, second.text);
  assert.deepEqual([first.replayed, second.replayed].sort(), ["true", null].sort());
});

test("fifty at once over two copies are one run, and all end with its answer", async () => {
  const program = { code: COUNT, params: { key: "fifty" } };
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      for (let attempt = 0; attempt < 20; attempt++) {
        const answer = await post("k8", program, { copy: index % 2 });
        if (answer.status !== 409) return answer;
        await sleep(1000 * Number(answer.headers.get("retry-after")));
      }
      throw new Error("never answered");
    }),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.equal(answers.filter(({ replayed }) => replayed === null).length, 1);
  const { result } = await w.execute("return (await tools.storage.get({ key: 'fifty' })).value");
  assert.equal(result, 1);
  const [{ n }] = await w.d1("SELECT COUNT(*) AS n FROM run_inputs WHERE params LIKE '%fifty%'");
  assert.equal(n, 1, "the losers leave no row");
});

test("a hang-up does not end a run with a key: who asks again gets its answer", async () => {
  const program = { code: "await sleep(2500); return 'kept'" };
  const leave = new AbortController();
  const answer = await w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "k9" },
    body: JSON.stringify(program),
    signal: leave.signal,
  });
  leave.abort();
  await answer.text().catch(() => {});
  for (let attempt = 0; attempt < 10; attempt++) {
    const again = await post("k9", program);
    if (again.status === 409) continue;
    assert.equal(again.body.result, "kept", again.text);
    return;
  }
  assert.fail("never answered");
});

test("a run with a key can be cancelled, and that is its answer", async () => {
  const program = { code: "await sleep(20000)", label: "keyed" };
  const first = post("k10", program);
  /** @type {any} */
  let row;
  for (let i = 0; i < 50 && !row; i++) {
    await sleep(100);
    [row] = await w.d1("SELECT id FROM runs WHERE label = 'keyed'");
  }
  await w.json(`/v1/runs/${row.id}/cancel`, {});
  assert.equal((await first).body.status, "cancelled");
  assert.equal((await post("k10", program)).body.status, "cancelled");
});

test("MCP shares the keys, and marks a replay in _meta only", async () => {
  const call = async (/** @type {Record<string, unknown>} */ args) => {
    const { body } = await w.json(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "execute", arguments: args } },
      { headers: { accept: "application/json, text/event-stream" } },
    );
    return body.result;
  };
  const asked = { code: "return { r: Math.random() }", idempotencyKey: "m1" };
  const first = await call(asked);
  const again = await call(asked);
  assert.equal(first._meta?.["holdfast/replayed"], undefined);
  assert.equal(again._meta["holdfast/replayed"], true);
  assert.deepEqual(again.structuredContent, first.structuredContent);
  assert.deepEqual(again.content, first.content);
  const mismatch = await call({ ...asked, code: "return 2" });
  assert.equal(mismatch.isError, true);
  assert.equal(mismatch.structuredContent.errorDetails.code, "HF_E1010");
  const http = await post("m1", { code: asked.code });
  assert.deepEqual(http.body, first.structuredContent);
  const bad = await call({ ...asked, idempotencyKey: "a\u{0}b" });
  assert.equal(bad.isError, true);
});

test("a row of an older form is still read as a timeout", async () => {
  const first = await post("k11", { code: "return 1" });
  const old = JSON.stringify({
    id: first.body.id,
    status: "failed",
    error: "Execution timed out: stopped",
  });
  await w.d1("UPDATE run_responses SET body = ? WHERE run_id = ?", old, first.body.id);
  const again = await post("k11", { code: "return 1" });
  assert.equal(again.body.errorDetails.kind, "timed_out");
  assert.equal(again.body.errorDetails.timedOutAfterMs, null);
});

test("the schedule forgets keys that had their time, never one at work", async () => {
  await post("old", { code: "return 1" });
  const working = post("working", { code: "await sleep(3500); return 1" });
  await sleep(1500);
  await w.scheduled();
  const keys = (await w.d1("SELECT key FROM ledger")).map(({ key }) => key);
  assert.ok(!keys.includes("old"), keys.join());
  assert.ok(keys.includes("working"), keys.join());
  assert.equal((await working).body.result, 1);
});
