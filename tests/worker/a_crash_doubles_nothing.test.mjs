// Rule: workerd may die anywhere between two writes; the same key later gives one truthful answer.
// The run goes on from its record, on whichever surface it came: what was recorded is answered from
// there, and what may have had its effect is not done again, and says so. A run that nobody comes
// back for ends, naming what nobody knows of.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { sleep, start, startProcess } from "./harness.mjs";

const HEADERS = { "content-type": "application/json" };

/**
 * Sends `program` under a key, kills the process when `ready` says so, and starts again on what is
 * left, with every lease expired.
 *
 * @param {import("node:test").TestContext} t
 * @param {(origin: string) => Record<string, unknown>} program
 * @param {(first: Awaited<ReturnType<typeof startProcess>>, hits: string[]) => Promise<void>} ready
 * @param {Record<string, string>} [key] the header with the key
 */
async function crash(t, program, ready, key = { "idempotency-key": "crash" }) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  /** @type {string[]} */
  const hits = [];
  const server = createServer((request, response) => {
    hits.push(request.url ?? "");
    if (request.url !== "/slow") response.end("done");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
    fs.rmSync(state, { recursive: true, force: true });
  });
  const vars = { HOLDFAST_HTTP_HOSTS: origin };
  const body = program(origin);
  const first = await startProcess({ state, vars });
  const init = { headers: { ...HEADERS, ...key } };
  const lost = first.json("/v1/runs", body, init).catch(() => "lost");
  await ready(first, hits);
  await first.kill();
  await lost;
  const second = await start({ state, vars, outbound: "network" });
  t.after(() => second.stop());
  await second.d1("UPDATE runs SET lease_until = 1 WHERE status = 'running'");
  return { second, hits, repeat: () => second.json("/v1/runs", body, init) };
}

const hit = async (/** @type {string[]} */ hits, /** @type {string} */ url) => {
  for (let i = 0; i < 100 && !hits.includes(url); i++) await sleep(100);
  assert.ok(hits.includes(url), `${url} was never asked for`);
};

test("before anything is written: the key is free", { timeout: 120_000 }, async (t) => {
  const { second, repeat } = await crash(
    t,
    () => ({ code: "return 1" }),
    async () => {},
  );
  const answer = await repeat();
  assert.equal(answer.body.result, 1);
  const [{ n }] = await second.d1("SELECT COUNT(*) AS n FROM runs WHERE status = 'completed'");
  assert.equal(n, 1);
});

test("after the claim, before any effect: it goes on", { timeout: 120_000 }, async (t) => {
  const { second, repeat } = await crash(
    t,
    () => ({
      code: `const drawn = Math.random();
             await tools.storage.get({ key: "a" });
             console.log("drew", drawn);
             await sleep(4000);
             return drawn`,
    }),
    () => sleep(2500),
  );
  const [before] = await second.d1("SELECT * FROM ledger");
  const answer = await repeat();
  assert.equal(answer.body.status, "completed", JSON.stringify(answer.body));
  assert.equal(answer.body.id, before.run_id, "it is the same run");
  const texts = answer.body.logs.map((/** @type {any} */ line) => line.text);
  assert.deepEqual(texts, [`drew ${answer.body.result}`]);
  const [row] = await second.d1("SELECT fence, status FROM runs");
  assert.deepEqual(row, { fence: 2, status: "completed" });
  assert.deepEqual((await repeat()).body, answer.body);
});

test(
  "during an effect: it is not made twice, and the answer says so",
  { timeout: 120_000 },
  async (t) => {
    const { repeat, hits, second } = await crash(
      t,
      (origin) => ({
        code: `return await tools.http.fetch({ url: "${origin}/slow", method: "POST" })`,
      }),
      (_, seen) => hit(seen, "/slow"),
    );
    const answer = await repeat();
    assert.equal(answer.status, 200);
    assert.equal(answer.body.status, "failed");
    assert.equal(answer.body.errorDetails.kind, "effect_unknown", JSON.stringify(answer.body));
    assert.deepEqual((await repeat()).body, answer.body);
    assert.deepEqual(hits, ["/slow"]);
    const [dispatch] = await second.d1("SELECT * FROM dispatches");
    assert.equal(dispatch.state, "called", "nobody knows whether it had its effect");
  },
);

test("effects before the crash are not made again, those behind it are made", async (t) => {
  const { repeat, hits, second } = await crash(
    t,
    (origin) => ({
      code: `const at = (path) => tools.http.fetch({ url: "${origin}" + path, method: "POST" });
             const out = [(await at("/one")).body, (await at("/two")).body];
             await sleep(3000);
             return [...out, (await at("/three")).body]`,
    }),
    async (_, seen) => {
      await hit(seen, "/two");
      await sleep(1500);
    },
  );
  const answer = await repeat();
  assert.deepEqual(answer.body.result, ["done", "done", "done"], JSON.stringify(answer.body));
  assert.deepEqual(hits, ["/one", "/two", "/three"]);
  assert.equal((await second.d1("SELECT id FROM runs")).length, 1);
});

test("an unknown effect can be caught, and the run goes on behind it", async (t) => {
  const { repeat, hits } = await crash(
    t,
    (origin) => ({
      code: `const at = (path) => tools.http.fetch({ url: "${origin}" + path, method: "POST" });
             try { await at("/slow"); } catch (error) { return [error.code, (await at("/after")).body]; }`,
    }),
    (_, seen) => hit(seen, "/slow"),
  );
  const answer = await repeat();
  assert.deepEqual(answer.body.result, ["HF_E1803", "done"], JSON.stringify(answer.body));
  assert.deepEqual(hits, ["/slow", "/after"]);
});

test("a lost run without a key ends, and names what nobody knows of", async (t) => {
  const { second, hits } = await crash(
    t,
    (origin) => ({
      code: `await tools.http.fetch({ url: "${origin}/quick", method: "POST" });
             await tools.http.fetch({ url: "${origin}/slow", method: "POST" })`,
    }),
    (_, seen) => hit(seen, "/slow"),
    {},
  );
  await second.scheduled();
  const [{ id }] = await second.d1("SELECT id FROM runs");
  const run = (await second.json(`/v1/runs/${id}`)).body;
  assert.equal(run.errorDetails.kind, "sandbox_gone", JSON.stringify(run));
  assert.deepEqual(run.errorDetails.effectUnknown, [{ n: 1, tool: "http.fetch" }]);
  assert.deepEqual(hits, ["/quick", "/slow"]);
});

test("the schedule that comes first has it go on", { timeout: 120_000 }, async (t) => {
  const { repeat, second } = await crash(
    t,
    () => ({ code: `await sleep(params.ms); return "done"`, params: { ms: 4000 } }),
    () => sleep(2000),
  );
  const [before] = await second.d1("SELECT run_id FROM ledger");
  await second.scheduled();
  const [row] = await second.d1("SELECT id, fence, status FROM runs");
  assert.deepEqual(row, { id: before.run_id, fence: 2, status: "completed" });
  assert.equal((await repeat()).body.result, "done");
});

test(
  "after the outcome is stored, whether or not it was answered: it is the answer",
  { timeout: 120_000 },
  async (t) => {
    const { repeat, hits, second } = await crash(
      t,
      (origin) => ({
        code: `return (await tools.http.fetch({ url: "${origin}/quick", method: "POST" })).status`,
      }),
      async (first, seen) => {
        await hit(seen, "/quick");
        for (let i = 0; i < 100; i++) {
          const { runs } = (await first.json("/v1/runs")).body;
          if (runs[0].status === "completed") return;
          await sleep(20);
        }
        assert.fail("it never ended");
      },
    );
    const answer = await repeat();
    assert.equal(answer.body.result, 200, JSON.stringify(answer.body));
    assert.equal(answer.headers.get("idempotency-replayed"), "true");
    assert.deepEqual(hits, ["/quick"]);
    assert.equal((await second.d1("SELECT id FROM runs")).length, 1);
  },
);

test("two callers take over at once: one run", { timeout: 120_000 }, async (t) => {
  const { repeat, second } = await crash(
    t,
    () => ({ code: `await sleep(1500); return Math.random()` }),
    () => sleep(1000),
  );
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 10; i++) {
        const answer = await repeat();
        if (answer.status !== 409) return answer;
        await sleep(500);
      }
      throw new Error("never answered");
    }),
  );
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.ok(answers.every(({ body }) => body.status === "completed"));
  const done = await second.d1("SELECT id FROM runs WHERE status = 'completed'");
  assert.equal(done.length, 1);
});
