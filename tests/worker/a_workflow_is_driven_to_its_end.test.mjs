// Rule: a workflow is a run that goes on by itself: its sleeps park it, people are asked, a segment that
// is cut is made again from the record, and whatever is not possible is refused before anything is
// created. Its rows are the truth, the engine only drives it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start, until } from "./harness.mjs";

/** Hours, scaled down: a sleep of more than 100 ms parks, a segment has 1.5 s of own time. */
const VARS = {
  HOLDFAST_PARK_MS: "100",
  HOLDFAST_BUDGET_WORKFLOW_MS: "1500",
  HOLDFAST_WORKFLOW_BACK_OFF_MS: "50",
};

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** What the outside was asked. @type {string[]} */
const hits = [];
before(async () => {
  w = await start({
    vars: { ...VARS, HOLDFAST_HTTP_HOSTS: "https://outside.example" },
    outbound: async (request) => {
      const place = new URL(request.url).pathname;
      hits.push(place);
      if (place.startsWith("/fail-once") && hits.filter((hit) => hit === place).length === 1) {
        return new Response("no", { status: 503 });
      }
      return new Response("done");
    },
  });
});
after(() => w.stop());

/**
 * @param {Record<string, unknown> | string} workflow its code, or the whole body
 * @param {any} [init]
 */
async function create(workflow, init = {}) {
  const body = typeof workflow === "string" ? { code: workflow } : workflow;
  const answer = await w.json("/v1/workflows", body, init);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

/** @param {string} id @param {any} [init] */
const look = async (id, init = {}) => (await w.json(`/v1/workflows/${id}`, undefined, init)).body;

/**
 * @param {string} id
 * @param {(run: any) => boolean} so
 * @param {any} [init]
 * @returns {Promise<any>}
 */
async function waits(id, so, init) {
  /** @type {any} */
  let last;
  try {
    return await until(
      "the workflow",
      async () => so((last = await look(id, init))) && last,
      25_000,
    );
  } catch (error) {
    throw new Error(`${error}: ${JSON.stringify(last)}`, { cause: error });
  }
}

const ended = (/** @type {string} */ id, /** @type {any} */ init = {}) =>
  waits(id, (run) => run.outcome !== null, init);

let made = 0;

/** A principal of its own, whose storage.delete a person must allow. */
async function principal() {
  const name = `durable-${++made}`;
  const token = async (/** @type {string[]} */ scopes) => {
    const answer = await w.json("/v1/tokens", { label: "t", principal: name, scopes });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.token;
  };
  const agent = await token(["execute", "runs", "packages"]);
  const person = await token(["approve"]);
  const keeper = await token(["policies"]);
  const rules = [{ pattern: "storage.delete", action: "ask" }];
  const put = await w.json("/v1/policies", { rules }, { method: "PUT", token: keeper });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  return { agent: { token: agent }, person: { token: person } };
}

test("a sleep parks the run, and it goes on where it was", async () => {
  const id = await create({
    code: `
      const draw = Math.random();
      await tools.http.fetch({ url: "https://outside.example/before", method: "POST" });
      console.log("before", draw);
      const began = Date.now();
      await sleep(700);
      console.log("after", draw);
      await sleep("0.3s");
      await sleep(new Date(Date.now() + 300));
      return { slept: Date.now() - began, own: performance.now(), draw, given: params.given };
    `,
    params: { given: 7 },
    label: "sleeper",
  });
  const parked = await waits(id, (run) => run.status === "parked" && run.logs.length === 1);
  assert.ok(parked.wakeAt > parked.createdAt);
  const run = await ended(id);
  assert.equal(run.status, "completed", JSON.stringify(run));
  assert.equal(run.surface, "workflow");
  assert.equal(run.label, "sleeper");
  assert.equal(run.result.given, 7);
  assert.ok(run.result.slept >= 1300, `${run.result.slept}`);
  assert.ok(run.result.own < run.result.slept, "a sleep that parks is not the program's own time");
  assert.deepEqual(
    run.logs.map((/** @type {any} */ line) => line.text),
    [`before ${run.result.draw}`, `after ${run.result.draw}`],
  );
  assert.equal(hits.filter((hit) => hit === "/before").length, 1);
  assert.ok(run.workflow.segment >= 4, JSON.stringify(run.workflow));
  const looked = (await w.json(`/v1/runs/${id}`)).body;
  assert.equal(looked.result.draw, run.result.draw, "a workflow is a run");
});

test("the earliest of several sleeps wakes it, and a race is decided as it was", async () => {
  const id = await create(`
    const won = [];
    for (let i = 0; i < 2; i++) {
      won.push(await Promise.race([
        sleep(60_000).then(() => "long"),
        sleep(400).then(() => "short"),
        sleep(20_000).then(() => "middle"),
      ]));
    }
    const all = await Promise.all([sleep(300).then(() => 1), sleep(200).then(() => 2)]);
    return { won, all };
  `);
  const run = await ended(id);
  assert.deepEqual(run.result, { won: ["short", "short"], all: [1, 2] }, JSON.stringify(run));
});

test("an approval and a sleep are waited for at once, whichever comes first", async () => {
  const p = await principal();
  const code = `
    return await Promise.race([
      tools.storage.delete({ key: "a" }).then(() => "allowed"),
      sleep(params.ms).then(() => "late"),
    ]);
  `;
  const late = await create({ code, params: { ms: 1_500 } }, p.agent);
  const asked = await waits(late, (run) => run.status === "waiting_approval", p.agent);
  assert.equal(asked.approvals.length, 1);
  assert.ok(asked.wakeAt !== undefined, JSON.stringify(asked));
  assert.equal((await ended(late, p.agent)).result, "late");

  const allowed = await create({ code, params: { ms: 3_600_000 } }, p.agent);
  const waiting = await waits(allowed, (run) => run.status === "waiting_approval", p.agent);
  const place = `/v1/approvals/${waiting.approvals[0].id}`;
  const decided = await w.json(place, { decision: "allow" }, p.person);
  assert.equal(decided.status, 200, JSON.stringify(decided.body));
  assert.equal((await ended(allowed, p.agent)).result, "allowed");
});

test("a segment that its budget cut is made again, and what it did is kept", async () => {
  const id = await create(`
    for (let i = 0; i < 3; i++) {
      await tools.http.fetch({ url: "https://outside.example/cut-" + i, method: "POST" });
      const until = performance.now() + 900;
      while (performance.now() < until) await sleep(20);
    }
    if (!(await tools.storage.get({ key: "cut" })).value) {
      await tools.storage.set({ key: "cut", value: true });
      await sleep(90);
      for (;;) await null;
    }
    return "not reached";
  `);
  const cut = await waits(id, (run) => run.workflow.lastError !== null);
  assert.match(cut.workflow.lastError, /^Execution timed out after 1500ms: /);
  assert.equal(cut.workflow.lastErrorCode, "HF_E1302");
  const run = await ended(id);
  assert.equal(run.status, "failed", JSON.stringify(run));
  assert.match(run.error, /^Execution timed out after 1500ms: /);
  const [row] = await w.d1("SELECT cuts FROM workflows WHERE run_id = ?", id);
  assert.equal(row.cuts, 3, "it was tried four times");
  const [{ fence }] = await w.d1("SELECT fence FROM runs WHERE id = ?", id);
  assert.equal(fence, 4, "each try was a real attempt");
  for (let i = 0; i < 3; i++) assert.equal(hits.filter((hit) => hit === `/cut-${i}`).length, 1);
});

test("a program that makes calls comes further with each try", async () => {
  // Each call grants a fresh budget; the compute of a record is granted again while it is replayed.
  const id = await create(`
    let spent = 0;
    for (let i = 0; i < 4; i++) {
      await tools.storage.set({ key: "step", value: i });
      const until = performance.now() + 600;
      while (performance.now() < until) await sleep(10);
      spent += 600;
    }
    return spent;
  `);
  const run = await ended(id);
  assert.equal(run.result, 2400, JSON.stringify(run));
});

test("a program that failed is not tried again unless it was asked for", async () => {
  const code = `
    await tools.http.fetch({ url: "https://outside.example/" + params.name, method: "POST" });
    const { status } = await tools.http.fetch({ url: "https://outside.example/fail-once-" + params.name });
    if (status !== 200) throw new Error("not yet");
    return status;
  `;
  const once = await ended(await create({ code, params: { name: "x" } }));
  assert.equal(once.status, "failed", JSON.stringify(once));
  assert.match(once.error, /not yet/);
  assert.equal(hits.filter((hit) => hit === "/x").length, 1);

  const reads = `
    await tools.storage.set({ key: "before", value: 1 });
    console.log("before");
    if ((await tools.storage.get({ key: params.key })).value !== true) throw new Error("not yet");
    return "at last";
  `;
  const id = await create({ code: reads, params: { key: "ready" }, retries: 10 });
  await waits(id, (run) => run.workflow.lastError !== null);
  await w.execute(`await tools.storage.set({ key: "ready", value: true })`);
  const run = await ended(id);
  assert.equal(run.result, "at last", JSON.stringify(run));
  assert.deepEqual(
    run.logs.map((/** @type {any} */ line) => line.text),
    ["before"],
  );
  const calls = await w.d1("SELECT path FROM dispatches WHERE run_id = ? ORDER BY n", id);
  assert.equal(calls.length, 2, "what it did before is not done again");
});

test("an explicit key has one workflow, whoever asks at once", async () => {
  const body = { code: "await sleep(300); return 1", idempotencyKey: "one" };
  const answers = await Promise.all(Array.from({ length: 6 }, () => w.json("/v1/workflows", body)));
  const ids = new Set(answers.map((answer) => answer.body.id));
  assert.equal(ids.size, 1, JSON.stringify(answers.map((answer) => answer.body)));
  assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
  assert.equal(answers.filter((answer) => answer.status === 200).length, 5);
  const [id] = ids;
  await ended(id);
  const again = await w.json(
    "/v1/workflows",
    { code: body.code },
    {
      headers: { "idempotency-key": "one" },
    },
  );
  assert.deepEqual([again.status, again.body.id, again.body.status], [200, id, "completed"]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  const other = await w.json("/v1/workflows", { ...body, code: "return 2" });
  assert.equal(other.status, 422, JSON.stringify(other.body));
});

test("what cannot run is refused before anything is created", async () => {
  const p = await principal();
  const before = await w.d1("SELECT COUNT(*) AS n FROM runs");
  /** @type {[string, any, number, string, string?][]} */
  const cases = [
    ["nothing to run", {}, 400, "invalid_request", "code"],
    ["both", { code: "1", package: "a" }, 400, "invalid_request", "code"],
    ["an unknown package", { package: "nobody/knows" }, 404, "not_found"],
    ["a past date", { code: "1", runAt: Date.now() - 1_000 }, 400, "invalid_request", "runAt"],
    [
      "a past date in words",
      { code: "1", runAt: "2020-01-01T00:00:00Z" },
      400,
      "invalid_request",
      "runAt",
    ],
    ["no date", { code: "1", runAt: "soon" }, 400, "invalid_request", "runAt"],
    [
      "a date too far",
      { code: "1", runAt: "2199-01-01T00:00:00Z" },
      400,
      "invalid_request",
      "runAt",
    ],
    ["a syntax error", { code: "return (" }, 400, "syntax_error"],
    ["a function", { code: "return () => 1" }, 400, "serialization_error", "code"],
    [
      "params over the limit",
      { code: "1", params: { x: "y".repeat(1_100_000) } },
      413,
      "limit_exceeded",
      "params",
    ],
    ["code over the limit", { code: `"${"y".repeat(270_000)}"` }, 413, "limit_exceeded", "code"],
    ["an unknown field", { code: "1", when: 1 }, 400, "invalid_request"],
    ["retries", { code: "1", retries: 11 }, 400, "invalid_request", "retries"],
    ["a budget", { code: "1", budgetMs: 270_001 }, 400, "invalid_request", "budgetMs"],
    ["an empty key", { code: "1", idempotencyKey: "" }, 400, "invalid_request", "idempotencyKey"],
    ["a label", { code: "1", label: "" }, 400, "invalid_request", "label"],
    ["a version of a program", { code: "1", version: 2 }, 400, "invalid_request", "version"],
  ];
  for (const [name, body, status, kind, field] of cases) {
    const answer = await w.json("/v1/workflows", body, p.agent);
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body).slice(0, 500)}`);
    assert.equal(answer.body.error.kind, kind, name);
    assert.ok(answer.body.error.nextStep.length > 20, name);
    if (field !== undefined) assert.equal(answer.body.error.field, field, name);
  }
  assert.deepEqual(await w.d1("SELECT COUNT(*) AS n FROM runs"), before);
  const missing = await w.json("/v1/workflows/run_none");
  assert.deepEqual([missing.status, missing.body.error.code], [404, "HF_E1007"]);
});

test("parameters too large for the event arrive all the same", async () => {
  const text = "z".repeat(40_000);
  const run = await ended(await create({ code: "return params.text.length", params: { text } }));
  assert.equal(run.result, 40_000, JSON.stringify(run));
});

test("it begins when it was asked to, and a package serves as well as a program", async () => {
  const p = await principal();
  const saved = await w.json(
    "/v1/packages/later",
    { modules: { "index.js": "export default async (params) => { return params.n + 1; }" } },
    { method: "PUT", ...p.agent },
  );
  assert.ok(saved.status < 300, JSON.stringify(saved.body));
  const runAt = new Date(Date.now() + 1_500).toISOString();
  const id = await create({ package: "later", params: { n: 41 }, runAt }, p.agent);
  const waiting = await look(id, p.agent);
  assert.equal(waiting.status, "parked", JSON.stringify(waiting));
  assert.equal(waiting.wakeAt, Date.parse(runAt));
  const run = await ended(id, p.agent);
  assert.equal(run.result, 42, JSON.stringify(run));
  assert.ok(run.endedAt >= Date.parse(runAt));
});

test("cancelled in any state, it ends there", async () => {
  const p = await principal();
  /** @type {[string, any, (run: any) => boolean][]} */
  const states = [
    ["before its time", { code: "return 1", runAt: Date.now() + 3_600_000 }, () => true],
    ["asleep", { code: `await sleep("2h")` }, (run) => run.wakeAt > Date.now() + 1_000_000],
    [
      "asking",
      { code: `await tools.storage.delete({ key: "a" })` },
      (run) => run.status === "waiting_approval",
    ],
    [
      "at work",
      {
        code: `for (let i = 0; ; i++) { await tools.storage.get({ key: "a" }); await sleep(50); }`,
      },
      (run) => run.status === "running",
    ],
    [
      "set back",
      { code: `await tools.storage.get({ key: "a" }); throw new Error("no")`, retries: 9 },
      (run) => run.workflow.lastError !== null,
    ],
  ];
  for (const [name, body, so] of states) {
    const id = await create(body, p.agent);
    await waits(id, so, p.agent);
    const answer = await w.json(`/v1/workflows/${id}/cancel`, {}, p.agent);
    assert.equal(answer.body.status, "cancelled", `${name}: ${JSON.stringify(answer.body)}`);
    const again = await w.json(`/v1/workflows/${id}/cancel`, {}, p.agent);
    assert.deepEqual(again.body, answer.body, `${name}: it is sticky`);
    const open = await w.d1("SELECT * FROM approvals WHERE run_id = ? AND state = 'open'", id);
    assert.deepEqual(open, [], name);
    assert.deepEqual(await w.d1("SELECT * FROM journal WHERE run_id = ?", id), [], name);
  }
  const done = await create("return 1", p.agent);
  const run = await ended(done, p.agent);
  const late = await w.json(`/v1/workflows/${done}/cancel`, {}, p.agent);
  assert.equal(late.body.status, "completed", "one that has ended keeps its outcome");
  assert.equal(late.body.result, run.result);
});

test("a program creates, follows and cancels workflows", async () => {
  const run = await w.execute(`
    import { workflows } from "holdfast:runtime";
    const made = await workflows.create({ code: "await sleep(200); return params.n * 2", params: { n: 21 }, label: "child" });
    const other = await workflows.create({ code: "await sleep('1h')" });
    const cancelled = await workflows.cancel(other.id);
    let refused;
    try { await workflows.create({ code: "return (" }); } catch (error) { refused = error.code; }
    let child = await workflows.get(made.id);
    for (let i = 0; i < 200 && child.outcome === null; i++) { await sleep(100); child = await workflows.get(made.id); }
    return { id: made.id, status: child.status, result: child.result, cancelled: cancelled.status, refused };
  `);
  assert.equal(run.status, "completed", JSON.stringify(run));
  const { id, ...rest } = run.result;
  assert.match(id, /^run_/);
  assert.deepEqual(rest, {
    status: "completed",
    result: 42,
    cancelled: "cancelled",
    refused: "HF_E1304",
  });
});

test("the list has each as it stands, by pages and by status; nobody sees another's", async () => {
  const p = await principal();
  const other = await principal();
  const done = [];
  for (let i = 0; i < 3; i++) done.push(await create({ code: `return ${i}` }, p.agent));
  const asleep = await create(`await sleep("1h")`, p.agent);
  for (const id of done) await ended(id, p.agent);
  await waits(asleep, (run) => run.wakeAt > Date.now() + 1_000_000, p.agent);
  const list = async (/** @type {string} */ query) =>
    (await w.json(`/v1/workflows?${query}`, undefined, p.agent)).body;
  const first = await list("limit=3");
  assert.equal(first.workflows.length, 3);
  assert.equal(first.workflows[0].id, asleep);
  assert.equal(first.workflows[0].engine, "running");
  const second = await list(`limit=3&cursor=${first.nextCursor}`);
  assert.deepEqual(
    [...first.workflows, ...second.workflows].map((one) => one.id).sort(),
    [...done, asleep].sort(),
  );
  const completed = await list("status=completed");
  assert.deepEqual(completed.workflows.map((/** @type {any} */ one) => one.id).sort(), done.sort());
  assert.equal((await w.json(`/v1/workflows?when=1`, undefined, p.agent)).status, 400);
  const theirs = await w.json(`/v1/workflows/${asleep}`, undefined, other.agent);
  assert.equal(theirs.status, 404);
  const cancel = await w.json(`/v1/workflows/${asleep}/cancel`, {}, other.agent);
  assert.equal(cancel.status, 404);
  await w.json(`/v1/workflows/${asleep}/cancel`, {}, p.agent);
});

test("one that the engine does not know is told as such, and the schedule makes it again", async () => {
  const id = await create(`await sleep("1h")`);
  await waits(id, (run) => run.wakeAt > Date.now() + 1_000_000);
  // As if the engine had lost it: another id in all rows of ours.
  const lost = `run_${"0".repeat(31)}1`;
  for (const [table, column] of [
    ["runs", "id"],
    ["workflows", "run_id"],
    ["recordings", "run_id"],
    ["run_inputs", "run_id"],
    ["journal", "run_id"],
  ]) {
    await w.d1(`UPDATE ${table} SET ${column} = ? WHERE ${column} = ?`, lost, id);
  }
  assert.equal((await look(lost)).workflow.engine, "unknown");
  await w.d1("UPDATE runs SET wake_at = 1 WHERE id = ?", lost);
  await w.d1("UPDATE workflows SET made = 0 WHERE run_id = ?", lost);
  await w.scheduled();
  const run = await waits(lost, (one) => one.workflow.engine === "running");
  assert.equal(run.outcome, null);
  await w.json(`/v1/workflows/${lost}/cancel`, {});
});

test("a principal has as many as it may, and is told so", async () => {
  const small = await start({ vars: { ...VARS, HOLDFAST_WORKFLOWS_ACTIVE: "2" } });
  try {
    const body = { code: `await sleep("1h")` };
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await small.json("/v1/workflows", body));
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [201, 201, 503],
    );
    assert.equal(answers[2]?.body.error.limit, 2);
    await small.json(`/v1/workflows/${answers[0]?.body.id}/cancel`, {});
    assert.equal((await small.json("/v1/workflows", body)).status, 201);
  } finally {
    await small.stop();
  }
});

test("one that outlives its life time is ended, and says so", async () => {
  const short = await start({ vars: { ...VARS, HOLDFAST_WORKFLOW_LIFE_MS: "1200" } });
  try {
    const made = await short.json("/v1/workflows", { code: `await sleep("1h")` });
    const run = await until("its end", async () => {
      const { body } = await short.json(`/v1/workflows/${made.body.id}`);
      return body.outcome !== null && body;
    });
    assert.equal(run.status, "failed", JSON.stringify(run));
    assert.equal(run.errorDetails.limitName, "lifeMs");
  } finally {
    await short.stop();
  }
});

test("it goes on at once after a decision that came while it parked", async () => {
  const p = await principal();
  const id = await create(`return await tools.storage.delete({ key: "quick" })`, p.agent);
  const open = await until("the question", async () => {
    const { body } = await w.json("/v1/approvals", undefined, p.person);
    return body.approvals.length > 0 && body.approvals;
  });
  await w.json(`/v1/approvals/${open[0].id}`, { decision: "decline", reason: "no" }, p.person);
  const run = await ended(id, p.agent);
  assert.equal(run.status, "failed", JSON.stringify(run));
  assert.equal(run.errorDetails.kind, "approval_declined");
  await sleep(0);
});
