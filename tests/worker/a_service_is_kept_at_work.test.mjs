// Rule: a service is at work, one stretch after the other, until it is stopped; a stretch is one run,
// and never two at once. What is told of it is true, also after the process that ran it is gone.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { sleep, start, startProcess, until } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
  await save(w, "kit", KIT);
});
after(() => w.stop());

const KIT = {
  modules: {
    "index.js": `
const count = async (key) => {
  const { value = 0 } = await storage.get({ key });
  await storage.set({ key, value: value + 1 });
  return value + 1;
};
/** Looks at something every 50 ms and ends in good order. */
export async function watch({ key = "watch" }) {
  console.log("woken by", run.woken, "stretch", run.stretch, run.surface);
  await count(key + "-begun");
  while (!run.signal.aborted) await sleep(50);
  console.log(run.signal.reason.name, run.signal.reason.message);
  await count(key + "-ended");
  return "in good order";
}
/** Sleeps for an hour; a sleep ends when it is to end. */
export async function sleeper() {
  await sleep("1h");
  return run.signal.aborted;
}
/** Hears nothing. */
export async function deaf() {
  for (;;) await new Promise((done) => setTimeout(done, 50));
}
export async function crash() { throw new Error("crash " + await count("crash")); }
export async function nap({ afterMs = 0 }) {
  await tools.service.alarm({ afterMs });
  return run.woken;
}
export async function busy() { await new Promise((done) => setTimeout(done, 600_000)); }
export async function gated() { await tools.storage.delete({ key: "x" }); while (!run.signal.aborted) await sleep(50); }
export const alarmed = async () => { await tools.service.alarm({ afterMs: 5 }); };
export const constant = 5;`,
  },
  exports: {
    watch: {
      params: {
        type: "object",
        properties: { key: { type: "string" } },
        additionalProperties: false,
      },
    },
  },
  services: {
    watch: { description: "Watches." },
    deaf: { graceMs: 300 },
    sleeper: {},
    crash: {},
    nap: {},
    busy: {},
    gated: {},
    watcher: { export: "watch" },
  },
};

/** @param {any} worker @param {string} name @param {unknown} body @param {any} [init] */
async function save(worker, name, body, init = {}) {
  const answer = await worker.json(`/v1/packages/${name}`, body, { method: "PUT", ...init });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** @param {any} worker @param {any} [init] */
const client = (worker, init = {}) => ({
  /** @param {string} target @param {unknown} [body] */
  start: (target, body = {}) => worker.json(`/v1/services/${target}/start`, body, init),
  /** @param {string} target @param {number} [wait] */
  stop: (target, wait = 20) => worker.json(`/v1/services/${target}/stop?wait=${wait}`, {}, init),
  /** @param {string} target */
  async status(target) {
    const { status, body } = await worker.json(`/v1/services/${target}`, undefined, init);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  },
  /** @param {string} target @param {string} state */
  state(target, state) {
    return until(
      `${target} to be ${state}`,
      async () => {
        const body = await this.status(target);
        return body.state === state && body;
      },
      20_000,
    );
  },
});

/** @param {any} service */
const texts = (service) => service.logs.map((/** @type {any} */ line) => line.text);

test("it is started, looked at while it runs, asked to stop, and ends in good order", async () => {
  const c = client(w);
  const begun = await c.start("kit/watch", { params: { key: "a" } });
  assert.equal(begun.status, 200, JSON.stringify(begun.body));
  assert.ok(["starting", "running"].includes(begun.body.state), begun.body.state);
  const running = await c.state("kit/watch", "running");
  assert.equal(running.stretch, 1);
  await until("its first line", async () => texts(await c.status("kit/watch")).length > 0);
  assert.deepEqual(texts(await c.status("kit/watch")), ["woken by start stretch 1 service"]);
  const [row] = await w.d1("SELECT surface, budget_ms FROM runs WHERE id = ?", running.runId);
  assert.deepEqual(row, { surface: "service", budget_ms: 300_000 });

  const stopped = await c.stop("kit/watch");
  assert.equal(stopped.body.state, "stopped", JSON.stringify(stopped.body));
  assert.deepEqual(texts(stopped.body).slice(1), ["AbortError the service was asked to stop"]);
  const run = (await w.json(`/v1/runs/${running.runId}`)).body;
  assert.deepEqual(
    [run.status, run.result, run.surface],
    ["completed", "in good order", "service"],
  );
  await w.scheduled();
  assert.equal((await c.status("kit/watch")).state, "stopped");
});

test("a sleep ends when the service is to end", async () => {
  const c = client(w);
  await c.start("kit/sleeper");
  await c.state("kit/sleeper", "running");
  const stopped = (await c.stop("kit/sleeper")).body;
  assert.equal(stopped.state, "stopped", JSON.stringify(stopped));
  assert.equal((await w.json(`/v1/runs/${stopped.runId}`)).body.result, true);
});

test("a stop that is not heard is enforced after the grace", async () => {
  const c = client(w);
  await c.start("kit/deaf");
  await c.state("kit/deaf", "running");
  const asked = (await c.stop("kit/deaf", 0)).body;
  assert.equal(asked.state, "stopping");
  const stopped = (await c.stop("kit/deaf")).body;
  assert.equal(stopped.state, "stopped");
  const run = (await w.json(`/v1/runs/${stopped.runId}`)).body;
  assert.equal(run.status, "cancelled");
  assert.match(run.error, /asked to stop and did not end within 300ms/);
});

test("started twice at once and again it is at work once", async () => {
  const c = client(w);
  const params = { params: { key: "twice" } };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => c.start("kit/watcher", params)),
  );
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  await c.state("kit/watcher", "running");
  await Promise.all([w.scheduled(), w.scheduled()]);
  assert.equal((await c.start("kit/watcher", params)).status, 200);
  const other = await c.start("kit/watcher", { params: { key: "other" } });
  assert.deepEqual([other.status, other.body.error.code], [409, "HF_E1031"]);
  const runs = await w.d1("SELECT id FROM runs WHERE label = 'kit/watcher'");
  assert.equal(runs.length, 1);
  await c.stop("kit/watcher");
  const { result } = await w.execute(`return (await storage.get({ key: "twice-begun" })).value`);
  assert.equal(result, 1);
});

test("stopped while it starts it does not stay at work", async () => {
  const c = client(w);
  const [begun] = await Promise.all([c.start("kit/watch"), c.stop("kit/watch", 0)]);
  assert.equal(begun.status, 200);
  await c.stop("kit/watch");
  const stopped = await c.state("kit/watch", "stopped");
  assert.equal(stopped.wanted, "stopped");
  assert.deepEqual(
    await w.d1("SELECT id FROM runs WHERE surface = 'service' AND status = 'running'"),
    [],
  );
});

test("a loop of crashes slows down, and says what is wrong", async () => {
  const c = client(w);
  await c.start("kit/crash");
  const first = await c.state("kit/crash", "restarting");
  assert.match(first.lastError.message, /crash 1/);
  assert.equal(first.lastError.file, "index.js");
  await w.scheduled();
  const second = await c.state("kit/crash", "backing_off");
  assert.equal(second.failures, 2);
  assert.ok(second.nextAt > Date.now() + 30_000, `${second.nextAt - Date.now()}`);
  await w.scheduled();
  assert.equal((await c.status("kit/crash")).stretch, 2, "it is not begun before its time");
  await w.d1("UPDATE services SET next_at = 1 WHERE name = 'crash'");
  await w.scheduled();
  const third = await until("the third", async () => {
    const now = await c.status("kit/crash");
    return now.failures === 3 && now;
  });
  assert.ok(third.nextAt > Date.now() + 90_000);
  assert.equal((await c.stop("kit/crash")).body.state, "stopped");
});

test("an alarm wakes it", async () => {
  const c = client(w);
  await c.start("kit/nap", { params: { afterMs: 3_600_000 } });
  const asleep = await c.state("kit/nap", "sleeping");
  assert.equal(asleep.alarmAt, asleep.nextAt);
  await w.scheduled();
  assert.equal((await c.status("kit/nap")).stretch, 1);
  await w.d1("UPDATE services SET alarm_at = 1, next_at = 1 WHERE name = 'nap'");
  await w.scheduled();
  const again = await until("the second stretch to end", async () => {
    const now = await c.status("kit/nap");
    return now.stretch === 2 && now.state === "sleeping" && now;
  });
  assert.equal((await w.json(`/v1/runs/${again.runId}`)).body.result, "alarm");
  assert.equal((await c.stop("kit/nap")).body.state, "stopped");
  const { body } = await w.json("/v1/packages/kit/alarmed", { params: {} });
  assert.equal(body.errorDetails.code, "HF_E1604", JSON.stringify(body));
});

test("what cannot be started is refused, and nothing is stored", async () => {
  const c = client(w);
  const cases = /** @type {[string, unknown, number, string][]} */ ([
    ["none/watch", {}, 404, "HF_E1013"],
    ["kit/none", {}, 404, "HF_E1030"],
    ["kit/alarmed", {}, 404, "HF_E1030"],
    ["kit/watch", { version: 9 }, 404, "HF_E1014"],
    ["kit/watch", { params: { key: 1 } }, 400, "HF_E1002"],
    ["kit/watch", { params: 5 }, 400, "HF_E1002"],
    ["kit/watch", { since: 5 }, 400, "HF_E1002"],
  ]);
  const before = await w.d1("SELECT COUNT(*) AS n FROM services");
  for (const [target, body, status, code] of cases) {
    const answer = await c.start(target, body);
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], target);
  }
  assert.deepEqual(await w.d1("SELECT COUNT(*) AS n FROM services"), before);
  const never = await w.json("/v1/services/kit/busy");
  assert.deepEqual([never.status, never.body.error.code], [404, "HF_E1030"]);
  assert.match(never.body.error.message, /was never started/);
  const modules = KIT.modules;
  for (const [services, where] of /** @type {[unknown, string][]} */ ([
    [{ "a b": {} }, "services.a b"],
    [{ none: {} }, "services.none.export"],
    [{ constant: {} }, "services.constant.export"],
    [{ watch: { graceMs: 0 } }, "services.watch.graceMs"],
    [{ watch: { graceMs: 50_001 } }, "services.watch.graceMs"],
    [{ watch: { every: 1 } }, "every"],
  ])) {
    const answer = await w.json("/v1/packages/bad", { modules, services }, { method: "PUT" });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.ok(answer.body.error.message.includes(where), answer.body.error.message);
  }
});

test("a token starts and stops what it may invoke, of its own principal", async () => {
  const token = async (/** @type {string} */ principal, /** @type {string[]} */ scopes) => {
    const body = { label: "t", principal, scopes };
    return (await w.json("/v1/tokens", body)).body.token;
  };
  const owner = await token("svc", ["packages"]);
  await save(w, "kit", KIT, { token: owner });
  const may = client(w, { token: await token("svc", ["invoke:kit/watch"]) });
  const reads = client(w, { token: await token("svc", ["runs"]) });
  const other = client(w, { token: await token("else", ["execute", "runs"]) });
  assert.equal((await may.start("kit/watch")).status, 200);
  assert.equal((await may.start("kit/sleeper")).status, 403);
  assert.equal((await reads.start("kit/watch")).status, 403);
  assert.equal((await reads.stop("kit/watch", 0)).status, 403);
  assert.equal((await other.stop("kit/watch", 0)).status, 404);
  await may.state("kit/watch", "running");
  const list = async (/** @type {any} */ init) =>
    (await w.json("/v1/services", undefined, init)).body;
  const mine = await list({ token: await token("svc", ["runs"]) });
  assert.deepEqual(
    mine.services.map((/** @type {any} */ one) => [one.service, one.state]),
    [["kit/watch", "running"]],
  );
  assert.deepEqual((await list({ token: await token("else", ["runs"]) })).services, []);
  assert.equal((await may.stop("kit/watch")).body.state, "stopped");
});

test("a service follows its package; one that is deleted stops it and says so", async () => {
  const c = client(w);
  const watch = (/** @type {number} */ n) => ({
    modules: {
      "a.js": `export async function go() { console.log("version ${n}"); while (!run.signal.aborted) await sleep(20); }`,
    },
    services: { go: {} },
  });
  await save(w, "moving", watch(1));
  await save(w, "moving", watch(2));
  await c.start("moving/go");
  await until("its line", async () => texts(await c.status("moving/go"))[0] === "version 2");
  await w.json("/v1/packages/moving/version", { version: 1 }, { method: "PUT" });
  await c.stop("moving/go");
  await c.start("moving/go");
  await until("its line", async () => texts(await c.status("moving/go"))[0] === "version 1");
  await w.json("/v1/packages/moving", undefined, { method: "DELETE" });
  const stopped = await c.state("moving/go", "stopped");
  assert.equal(stopped.lastError.code, "HF_E1013", JSON.stringify(stopped));
  assert.equal((await c.start("moving/go")).body.error.code, "HF_E1013");

  await save(w, "changing", watch(1));
  await c.start("changing/go");
  await c.state("changing/go", "running");
  await save(w, "changing", { modules: { "a.js": "export const other = () => 1;" } });
  const runId = (await c.status("changing/go")).runId;
  await w.json(`/v1/runs/${runId}/cancel`, {});
  await c.state("changing/go", "restarting");
  await w.scheduled();
  const gone = await c.state("changing/go", "stopped");
  assert.equal(gone.lastError.code, "HF_E1030", JSON.stringify(gone));
});

test("a stretch that a person must decide about waits, and a stop ends it", async () => {
  const c = client(w);
  const rules = [{ pattern: "storage.delete", action: "ask" }];
  await w.json("/v1/policies", { rules }, { method: "PUT" });
  await c.start("kit/gated");
  const waiting = await c.state("kit/gated", "waiting_approval");
  assert.match(waiting.approvals[0].approveUrl, /^http.*\/approvals\/apr_/);
  assert.equal((await c.stop("kit/gated")).body.state, "stopped");
  await w.json("/v1/policies", undefined, { method: "DELETE" });
});

test("MCP tools start, look at and stop one", async () => {
  const call = async (/** @type {string} */ name, /** @type {any} */ args) => {
    const answer = await w.json(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
      {
        headers: {
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
        },
      },
    );
    return answer.body.result;
  };
  const begun = await call("service_start", { name: "kit/watch", params: { key: "mcp" } });
  assert.equal(begun.structuredContent.service, "kit/watch", JSON.stringify(begun));
  await client(w).state("kit/watch", "running");
  const all = await call("service_status", {});
  assert.ok(all.structuredContent.services.some((/** @type {any} */ s) => s.state === "running"));
  const stopped = await call("service_stop", { name: "kit/watch" });
  assert.equal(stopped.structuredContent.state, "stopped", JSON.stringify(stopped));
  const none = await call("service_status", { name: "kit/none" });
  assert.equal(none.structuredContent.errorDetails.code, "HF_E1030", JSON.stringify(none));
});

test("a cut names the budget, and the next stretch begins", async (t) => {
  const short = await start({ vars: { HOLDFAST_BUDGET_SERVICE_MS: "2000" } });
  t.after(() => short.stop());
  const c = client(short);
  await save(short, "kit", KIT);
  await c.start("kit/busy");
  const cut = await c.state("kit/busy", "restarting");
  assert.match(cut.lastError.message, /^Execution timed out after 2s: /);
  assert.equal(cut.lastError.code, "HF_E1302");
  await short.scheduled();
  await until("the second stretch", async () => (await c.status("kit/busy")).stretch === 2);
  assert.equal((await c.stop("kit/busy")).body.state, "stopped");
});

test("a stretch that a request began is over in good order after 20 s", async () => {
  const c = client(w);
  await save(w, "polls", {
    modules: {
      "a.js": `export async function go() {
  while (!run.signal.aborted) { await storage.get({ key: "a" }); await sleep(200); }
  return run.signal.reason.message; }`,
    },
    services: { go: {} },
  });
  await c.start("polls/go");
  const over = await until(
    "the stretch to be over",
    async () => {
      const body = await c.status("polls/go");
      return body.state === "restarting" && body;
    },
    90_000,
  );
  assert.equal(over.lastError, null, JSON.stringify(over));
  const run = (await w.json(`/v1/runs/${over.runId}`)).body;
  assert.match(run.result, /the stretch is over/);
  assert.equal((await c.stop("polls/go")).body.state, "stopped");
});

test(
  "after a loss of power it is told as lost and is at work again",
  { timeout: 120_000 },
  async (t) => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-service-"));
    t.after(() => fs.rmSync(state, { recursive: true, force: true }));
    const first = await startProcess({ state });
    try {
      await save(first, "kit", KIT);
      await client(first).start("kit/watch", { params: { key: "power" } });
      await client(first).state("kit/watch", "running");
      await sleep(300);
    } finally {
      await first.kill();
    }
    const second = await start({ state });
    t.after(() => second.stop());
    const c = client(second);
    // While its lease holds nobody can know. Thirty seconds later it is known.
    const hour = Date.now() + 3_600_000;
    await second.d1("UPDATE runs SET lease_until = ? WHERE status = 'running'", hour);
    assert.equal((await c.status("kit/watch")).state, "running");
    await second.d1("UPDATE runs SET lease_until = 1 WHERE status = 'running'");
    const { body } = await second.json("/v1/services");
    assert.equal(body.services[0].state, "restarting");
    const lost = await c.status("kit/watch");
    assert.equal(lost.state, "restarting");
    assert.equal(lost.lastError.code, "HF_E1204", JSON.stringify(lost));
    // The schedule's request lives as long as what it began.
    const round = second.scheduled();
    const again = await c.state("kit/watch", "running");
    assert.equal(again.stretch, 2);
    await until("its line", async () => texts(await c.status("kit/watch")).length > 0);
    assert.deepEqual(texts(await c.status("kit/watch")), ["woken by restart stretch 2 service"]);
    assert.equal((await c.stop("kit/watch")).body.state, "stopped");
    await round;
  },
);
