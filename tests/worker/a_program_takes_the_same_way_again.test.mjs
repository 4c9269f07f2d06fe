// Rule: a program that is run again takes the way it took: timers, races, randomness and the clock are those of
// its record, whatever the process did meanwhile. Time in which people were waited for is not the program's.
// What takes another way is told apart, and does nothing.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { crash, hit } from "./crash.mjs";
import { sleep, start, startProcess, until } from "./harness.mjs";
import { principal } from "./people.mjs";

const ASKS = [{ pattern: "storage.delete", action: "ask" }];
const LARGE = 3_000_000;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    vars: { HOLDFAST_HTTP_HOSTS: "https://outside.example" },
    outbound: () => new Response("é".repeat(LARGE / 2)),
  });
});
after(() => w.stop());

/** Asks the program's own clocks, dice and timers, on both sides of a call that a person decides. */
const EVERYTHING = `
  const draw = () => [
    Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))],
  ];
  const order = [];
  let ticks = 0;
  const every = setInterval(() => ticks++, 15);
  setTimeout(() => order.push("later"), 40);
  setTimeout(() => order.push("sooner"), 20);
  clearTimeout(setTimeout(() => order.push("never"), 10));
  const read = (key) => tools.storage.get({ key }).then(() => key);
  const first = await Promise.race([sleep(25).then(() => "slept"), read("a"), read("b")]);
  const any = await Promise.any([Promise.reject(1), sleep("0.02s").then(() => "any")]);
  const all = await Promise.all([read("c"), sleep(new Date(Date.now() + 10)).then(() => "date")]);
  await sleep(60);
  const before = { draw: draw(), date: Date.now(), ticks, first, any, all, order: [...order] };
  console.log(JSON.stringify(before));

  const own = performance.now();
  const gate = tools.storage.delete({ key: "a" }).then(() => "allowed");
  const late = new Promise((done) => setTimeout(() => done("late"), 1500));
  const won = await Promise.race([gate, late, sleep(1600).then(() => "later")]);
  const waited = { own: performance.now() - own, date: Date.now() - before.date };
  clearInterval(every);
  const ended = await Promise.allSettled([tools.storage.delete({ key: "b" }), late]);
  console.log("after");
  return { before, won, waited, ended: ended.map(({ value }) => typeof value), after: draw() };
`;

/** @param {any} run */
const texts = (run) => run.logs.map((/** @type {any} */ line) => line.text);

/** @param {any} run @param {any} waiting */
function isTheSame(run, waiting) {
  assert.equal(run.status, "completed", JSON.stringify(run));
  const { before, won, waited, ended } = run.result;
  assert.deepEqual(texts(run), [JSON.stringify(before), "after"], "no line twice, none anew");
  assert.deepEqual(
    texts(waiting),
    [JSON.stringify(before)],
    "what was drawn before the park stands",
  );
  assert.deepEqual(before.order, ["sooner", "later"]);
  assert.deepEqual([before.any, before.all], ["any", ["c", "date"]]);
  assert.ok(before.ticks >= 4, `${before.ticks} ticks`);
  assert.equal(won, "allowed", "a person's time decides no race");
  assert.ok(waited.own < 1500, `${waited.own} ms of its own`);
  assert.ok(waited.date >= 2000, `the date went on by ${waited.date} ms`);
  assert.deepEqual(ended, ["object", "string"]);
}

test("over parks", async () => {
  const p = await principal(w, ASKS);
  let run = await p.run(EVERYTHING);
  const waiting = run;
  for (let gate = 0; gate < 2; gate++) {
    assert.equal(run.status, "waiting_approval", JSON.stringify(run));
    await sleep(2000);
    await p.decide(run.approvals[0].id, "allow");
    run = await p.resume(run.id);
  }
  isTheSame(run, waiting);
  const [row] = await w.d1("SELECT fence FROM runs WHERE id = ?", run.id);
  assert.equal(row.fence, 3);
});

test(
  "over a park and kill -9, resumed from another session of MCP",
  { timeout: 120_000 },
  async (t) => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
    t.after(() => fs.rmSync(state, { recursive: true, force: true }));
    const first = await startProcess({ state });
    const p = await principal(first, ASKS);
    const other = await first.json("/v1/tokens", {
      label: "another session",
      principal: p.name,
      scopes: ["execute", "runs"],
    });
    const waiting = await p.run(EVERYTHING);
    assert.equal(waiting.status, "waiting_approval", JSON.stringify(waiting));
    await first.kill();

    const second = await start({ state });
    t.after(() => second.stop());
    const resume = async () => {
      const answer = await second.fetch("/mcp", {
        method: "POST",
        token: other.body.token,
        timeoutMs: 60_000,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "resume", arguments: { runId: waiting.id } },
        }),
      });
      const text = await answer.text();
      return JSON.parse(text.match(/^data: (.*)$/m)?.[1] ?? text).result.structuredContent;
    };
    let run = waiting;
    for (let gate = 0; gate < 2; gate++) {
      const [{ id }] = run.approvals;
      await sleep(gate === 0 ? 2000 : 0);
      await second.json(`/v1/approvals/${id}`, { decision: "allow" }, { token: p.person });
      run = await until("the next word", async () => {
        const now = await resume();
        return now.approvals?.[0]?.id !== id && now;
      });
    }
    isTheSame(run, waiting);
  },
);

test("over kill -9 while timers run", { timeout: 120_000 }, async (t) => {
  const { repeat, hits } = await crash(
    t,
    (origin) => ({
      code: `
        const at = (path) => tools.http.fetch({ url: "${origin}" + path, method: "POST" });
        const draws = [];
        const every = setInterval(() => draws.push(Math.random()), 200);
        const began = Date.now();
        const timeout = new Promise((done) => setTimeout(() => done("timeout"), 2500));
        await sleep(500);
        console.log("drew", draws.length, ...draws);
        await at("/one");
        const won = await Promise.race([timeout, sleep("1h")]);
        clearInterval(every);
        await at("/two");
        return { won, draws, took: Date.now() - began };`,
    }),
    async (_, seen) => {
      await hit(seen, "/one");
      await sleep(1300);
    },
  );
  const { body } = await repeat();
  assert.equal(body.result?.won, "timeout", JSON.stringify(body));
  assert.deepEqual(hits, ["/one", "/two"]);
  const { draws, took } = body.result;
  assert.deepEqual(texts(body), [`drew 2 ${draws[0]} ${draws[1]}`]);
  assert.ok(draws.length >= 10 && draws.length <= 13, `${draws.length} ticks in 2.5 s`);
  assert.ok(took >= 2500, "the time of the crash is in the date");
});

test("a sleep of more than ten seconds parks a workflow; elsewhere it is the program's own time", async () => {
  /** @param {string} code */
  const create = async (code) => {
    const { status, body } = await w.json("/v1/workflows", { code });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const look = async (/** @type {string} */ id) => (await w.json(`/v1/workflows/${id}`)).body;
  const began = Date.now();
  const short = await create(`await sleep(9_500)`);
  const long = await Promise.all(
    [`sleep(10_500)`, `sleep("2h")`, `sleep(new Date(Date.now() + 20_000))`].map((sleeps) =>
      create(`await ${sleeps}`),
    ),
  );
  const parked = await Promise.all(
    long.map((id) =>
      until("it to park", async () => {
        const now = await look(id);
        return now.status === "parked" && now;
      }),
    ),
  );
  for (const [index, ms] of [10_500, 7_200_000, 20_000].entries()) {
    const off = parked[index].wakeAt - began - ms;
    assert.ok(off >= 0 && off < 5_000, `${long[index]} wakes ${off} ms late`);
  }
  assert.equal((await look(short)).status, "running");
  for (const id of [short, ...long]) await w.json(`/v1/workflows/${id}/cancel`, {});

  const run = await w.execute({ code: `await sleep("2h")`, budgetMs: 400 });
  assert.equal(run.errorDetails?.code, "HF_E1302", JSON.stringify(run));
  assert.equal(run.status, "failed");
});

test("a value is kept whole, however large", async () => {
  const p = await principal(w, ASKS);
  const run = await p.run(`
    const { body } = await tools.http.fetch({ url: "https://outside.example/large" });
    await tools.storage.delete({ key: "a" });
    let hash = 0;
    for (let i = 0; i < body.length; i++) hash = (hash * 31 + body.charCodeAt(i)) | 0;
    return { length: body.length, hash, only: /^é*$/.test(body) };`);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  const parts = await w.d1(
    "SELECT LENGTH(CAST(body AS BLOB)) AS bytes FROM journal WHERE run_id = ?",
    run.id,
  );
  assert.ok(parts.length >= 3, `${parts.length} parts`);
  assert.ok(
    parts.every(({ bytes }) => bytes <= 1_000_000),
    JSON.stringify(parts),
  );
  await p.decide(run.approvals[0].id, "allow");
  const { result } = await p.resume(run.id);
  assert.deepEqual([result.length, result.only], [LARGE / 2, true]);
});

test("another way is told apart before it does anything, and a step keeps what it gave", async () => {
  const p = await principal(w, ASKS);
  const code = `
    const given = await step("roll", () => 1);
    await tools.storage.set({ key: "x", value: given });
    await tools.storage.delete({ key: "gate" });
    return given;`;
  const same = await p.run(code);
  const other = await p.run(code);
  // What a run goes on from is its own text: nobody can change it but whoever has the database.
  const change = (/** @type {any} */ run, /** @type {string} */ a, /** @type {string} */ b) =>
    w.d1("UPDATE run_inputs SET source = REPLACE(source, ?, ?) WHERE run_id = ?", a, b, run.id);
  await change(same, "=> 1", "=> 2");
  await change(other, '"x"', '"y"');
  for (const run of [same, other]) await p.decide(run.approvals[0].id, "allow");
  assert.equal(
    (await p.resume(same.id)).result,
    1,
    "what the function gives now counts for nothing",
  );
  const ended = await p.resume(other.id);
  assert.equal(ended.errorDetails?.kind, "replay_diverged", JSON.stringify(ended));
  assert.match(
    ended.error,
    /call 1: the record has storage\.set, the program made storage\.set with another argument/,
  );
  const keys = await w.d1("SELECT key FROM storage WHERE principal = ?", p.name);
  assert.deepEqual(keys, [{ key: "x" }]);
  const calls = await w.d1("SELECT path, state FROM dispatches WHERE run_id = ?", other.id);
  assert.ok(
    calls.every(({ path: called }) => called !== "storage.delete"),
    JSON.stringify(calls),
  );
});

test("a journal has an end, and says so before the call that does not fit", async () => {
  const run = await w.execute(
    `await tools.storage.set({ key: "full", value: "before" });
     for (let i = 0; i < 100_001; i++) await new Response("").text();
     await tools.storage.set({ key: "full", value: "behind" });`,
    { timeoutMs: 60_000 },
  );
  assert.equal(run.errorDetails?.code, "HF_E1802", JSON.stringify(run));
  assert.match(run.error, /100000 events/);
  const [row] = await w.d1("SELECT value FROM storage WHERE key = 'full'");
  assert.equal(row.value, '"before"');
});

test("a run that fails by itself drops its questions, and tells whoever waits", async () => {
  const p = await principal(w, ASKS);
  const held = p.run(
    `const asked = tools.storage.delete({ key: "a" });
     // Calls in flight keep it from being quiet, so that its own time goes on.
     const busy = async () => {
       for (let i = 0; i < 100; i++) {
         await sleep(15);
         await tools.storage.get({ key: "a" });
       }
     };
     await Promise.race([asked, busy()]);
     throw new Error("by itself");`,
    "?hold=20",
  );
  const [open] = await until("the question", async () => {
    const all = await p.approvals();
    return all.length > 0 && all;
  });
  const resumed = p.resume(open.runId);
  const run = await held;
  assert.equal(run.status, "failed", JSON.stringify(run));
  assert.match(run.error, /by itself/);
  assert.deepEqual(await resumed, run, "who waited is told the outcome");
  const late = await p.decide(open.id, "allow");
  assert.equal(late.status, 409);
  assert.equal(late.body.error.approval.state, "dropped");
  assert.deepEqual(late.body.error.run, run);
  assert.deepEqual(await p.resume(run.id, 1), run);
  assert.deepEqual(await p.approvals(), []);
});
