// Rule: each time of a schedule has one run, whatever dies and however often the Worker's own schedule
// comes; times that were missed go by the schedule's policy; what could never run is refused before
// anything is stored.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { start, startProcess, until } from "./harness.mjs";

const MINUTE = 60_000;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({ copies: 2 });
  await w.json("/v1/packages/kit", KIT, { method: "PUT" });
});
after(() => w.stop());

const KIT = {
  modules: {
    "index.js": `
export const count = async ({ key = "n" }) => {
  const { value = 0 } = await storage.get({ key });
  await storage.set({ key, value: value + 1 });
  return value + 1;
};`,
  },
  exports: { count: { params: { type: "object", properties: { key: { type: "string" } } } } },
};

/** @param {string} name @param {any} body @param {any} [init] */
const put = (name, body, init = {}) =>
  w.json(`/v1/schedules/${name}`, body, { method: "PUT", ...init });

/** @param {string} name @param {any} body */
async function putOk(name, body) {
  const { status, body: schedule } = await put(name, body);
  assert.equal(status, 200, JSON.stringify(schedule));
  return schedule;
}

/** @param {string} name */
const history = async (name) => {
  const { status, body } = await w.json(`/v1/schedules/${name}/history`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.firings;
};

/** @param {string} name @param {number} at */
const dueAt = (name, at) => w.d1("UPDATE schedules SET next_at = ? WHERE name = ?", at, name);

/** @param {string} name @param {number} count */
const ended = (name, count) =>
  until(
    `${count} runs of ${name}`,
    async () => {
      const all = await history(name);
      const done = all.filter((/** @type {any} */ one) => one.endedAt !== null);
      return done.length === count && all;
    },
    20_000,
  );

test("a time fires once, on whichever copy and however often the schedule comes", async () => {
  const schedule = await putOk("once-each", {
    cron: "*/5 * * * *",
    run: { package: "kit/count", params: { key: "once-each" } },
  });
  assert.equal(schedule.state, "active");
  assert.equal(schedule.nextAt % (5 * MINUTE), 0);
  assert.ok(schedule.nextAt > Date.now());
  await w.scheduled();
  assert.deepEqual(await history("once-each"), []);

  const at = Math.floor(Date.now() / MINUTE) * MINUTE;
  await dueAt("once-each", at);
  await Promise.all([w.scheduled(1), w.scheduled(2), w.scheduled(1), w.scheduled(2)]);
  const [firing, ...others] = await ended("once-each", 1);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [firing.at, firing.state, firing.status, firing.manual],
    [at, "begun", "completed", false],
  );
  const run = (await w.json(`/v1/runs/${firing.runId}`)).body;
  assert.deepEqual([run.result, run.label], [1, "schedule once-each"]);
  const { body } = await w.json("/v1/schedules/once-each");
  assert.ok(body.nextAt > Date.now());
});

test("a time whose run was not begun when the process died is begun later, once", async () => {
  await putOk("crashed", {
    every: "1h",
    run: { package: "kit/count", params: { key: "crashed" } },
  });
  const at = Date.now() - 1_000;
  await dueAt("crashed", at);
  // The time is put down and nothing more: as where the process died behind that write.
  const [{ id }] = await w.d1("SELECT id FROM schedules WHERE name = 'crashed'");
  await w.d1(
    `INSERT INTO firings (schedule_id, at, principal, name, state, run_id, tried_at, created_at)
     VALUES (?, ?, 'admin', 'crashed', 'due', 'run_never', ?, ?)`,
    id,
    at,
    at - 2 * MINUTE,
    at,
  );
  await w.d1("UPDATE schedules SET next_at = next_at + 3600000 WHERE name = 'crashed'");
  await Promise.all([w.scheduled(1), w.scheduled(2)]);
  const [firing] = await ended("crashed", 1);
  assert.equal(firing.at, at);
  // Begun, and then lost before it was put down: the key answers with the run that there is.
  await w.d1(
    "UPDATE firings SET state = 'due', run_id = NULL, tried_at = 0 WHERE name = 'crashed'",
  );
  await w.scheduled();
  const again = await until("the same run", async () => {
    const [one] = await history("crashed");
    return one.state === "begun" && one;
  });
  assert.equal(again.runId, firing.runId);
  const { result } = await w.execute(`return (await storage.get({ key: "crashed" })).value`);
  assert.equal(result, 1);
});

test("missed times are left out or made up for", async () => {
  const now = Math.floor(Date.now() / MINUTE) * MINUTE;
  const run = { code: "return 1" };
  await putOk("skips", { cron: "* * * * *", missed: "skip", run });
  await putOk("catches", { cron: "* * * * *", missed: "catch_up", run });
  await dueAt("skips", now - 60 * MINUTE);
  await dueAt("catches", now - 5 * MINUTE);
  await w.scheduled();
  const caught = await until(
    "all to be begun",
    async () => {
      const all = await history("catches");
      const begun = all.filter((/** @type {any} */ one) => one.runId !== null);
      return begun.length >= 6 && all;
    },
    20_000,
  );
  const times = caught.map((/** @type {any} */ one) => one.at);
  assert.deepEqual(
    times.slice(-6),
    [0, 1, 2, 3, 4, 5].map((ago) => now - ago * MINUTE),
  );
  const skipped = (await history("skips")).find(
    (/** @type {any} */ one) => one.state === "skipped",
  );
  assert.equal(skipped.at, now - 60 * MINUTE);
  assert.ok(skipped.missed >= 57 && skipped.missed <= 59, `${skipped.missed}`);
  assert.ok((await w.json("/v1/schedules/skips")).body.nextAt > Date.now());
});

test("once fires once and is done; run-now leaves its times alone", async () => {
  const at = Date.now() + 3_600_000;
  const schedule = await putOk("single", { once: at, run: { code: "return run.surface" } });
  assert.deepEqual([schedule.nextAt, schedule.once], [at, at]);
  const asked = await w.json("/v1/schedules/single/run", {});
  assert.equal(asked.body.result, "execute", JSON.stringify(asked.body));
  const [manual] = await history("single");
  assert.deepEqual(
    [manual.manual, manual.runId, manual.status],
    [true, asked.body.id, "completed"],
  );
  assert.equal((await w.json("/v1/schedules/single")).body.nextAt, at);
  const past = Date.now() - 10;
  await w.d1(
    "UPDATE schedules SET rule = json_object('at', ?1), next_at = ?1 WHERE name = 'single'",
    past,
  );
  await w.scheduled();
  await ended("single", 2);
  const done = (await w.json("/v1/schedules/single")).body;
  assert.deepEqual([done.state, done.nextAt], ["done", null]);
  await w.scheduled();
  assert.equal((await history("single")).length, 2);
});

test("a paused one does not fire, and what passed meanwhile is left out", async () => {
  await putOk("pauses", { every: "10m", missed: "catch_up", run: { code: "return 1" } });
  const paused = await w.json("/v1/schedules/pauses/pause", {});
  assert.deepEqual([paused.body.state, paused.body.nextAt], ["paused", null]);
  await dueAt("pauses", Date.now() - 3_600_000);
  await w.scheduled();
  const resumed = await w.json("/v1/schedules/pauses/resume", {});
  assert.equal(resumed.body.state, "active");
  assert.ok(resumed.body.nextAt > Date.now());
  await w.scheduled();
  assert.deepEqual(await history("pauses"), []);
  assert.equal((await w.json("/v1/schedules/pauses", undefined, { method: "DELETE" })).status, 200);
  assert.equal((await w.json("/v1/schedules/pauses")).body.error.code, "HF_E1032");
});

test("a zone is the platform's own, with its changes of clocks", async () => {
  const run = { code: "return 1" };
  const berlin = await putOk("berlin", { cron: "30 9 * * *", zone: "Europe/Berlin", run });
  const shown = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Europe/Berlin",
    timeStyle: "short",
  });
  assert.equal(shown.format(berlin.nextAt), "09:30");
  const kathmandu = await putOk("kathmandu", { cron: "0 0 * * *", zone: "Asia/Kathmandu", run });
  assert.equal(kathmandu.nextAt % 86_400_000, (24 * 60 - 345) * MINUTE);
  const year = new Date().getUTCFullYear() + 1;
  // The last Sunday of March: two in the morning is left out.
  const march = new Date(Date.UTC(year, 2, 31));
  const sunday = new Date(march.getTime() - march.getUTCDay() * 86_400_000);
  const day = sunday.toISOString().slice(0, 10);
  const gap = await putOk("gap", { once: `${day}T02:30`, zone: "Europe/Berlin", run });
  assert.equal(gap.nextAt, Date.parse(`${day}T01:00:00Z`));
  const june = await putOk("june", { once: `${year}-06-01T12:00`, zone: "America/New_York", run });
  assert.equal(june.nextAt, Date.parse(`${year}-06-01T16:00:00Z`));
});

test("what cannot be is refused by its field, and nothing is stored", async () => {
  const run = { code: "return 1" };
  const cron = "0 9 * * *";
  const before = await w.d1("SELECT COUNT(*) AS n FROM schedules");
  for (const [body, field, code] of /** @type {[any, string, string][]} */ ([
    [{ cron: "61 * * * *", run }, "cron", "HF_E1002"],
    [{ cron: "* * *", run }, "cron", "HF_E1002"],
    [{ cron: "0 0 30 2 *", run }, "cron", "HF_E1002"],
    [{ cron, zone: "Europe/Nowhere", run }, "zone", "HF_E1002"],
    [{ cron, zone: "+02:00", run }, "zone", "HF_E1002"],
    [{ cron, zone: "", run }, "zone", "HF_E1002"],
    [{ every: "1h", zone: "UTC", run }, "zone", "HF_E1002"],
    [{ every: "30s", run }, "every", "HF_E1002"],
    [{ every: 0, run }, "every", "HF_E1002"],
    [{ every: "often", run }, "every", "HF_E1002"],
    [{ once: Date.now() - 1_000, run }, "once", "HF_E1002"],
    [{ once: "2020-01-01T00:00:00Z", run }, "once", "HF_E1002"],
    [{ once: "tomorrow", run }, "once", "HF_E1002"],
    [{ once: "2400-01-01T00:00:00Z", run }, "once", "HF_E1002"],
    [{ cron, every: "1h", run }, "schedule", "HF_E1002"],
    [{ run }, "schedule", "HF_E1002"],
    [{ cron, run: {} }, "run", "HF_E1002"],
    [{ cron, run: { code: "1", package: "kit/count" } }, "run", "HF_E1002"],
    [{ cron, run: { workflow: {} } }, "run.workflow", "HF_E1002"],
    [{ cron, run: { workflow: { code: "1", runAt: 5 } } }, "run.workflow", "HF_E1002"],
    [{ cron, run: { workflow: { code: "1" }, label: "x" } }, "run.workflow", "HF_E1002"],
    [{ cron, run: { code: "return (" } }, "run.code", "HF_E1002"],
    [{ cron, run: { code: "1", version: 1 } }, "run.version", "HF_E1002"],
    [{ cron, run: { code: "1", budgetMs: 0 } }, "run.budgetMs", "HF_E1002"],
    [{ cron, run: { package: "none/x" } }, "", "HF_E1013"],
    [{ cron, run: { package: "kit/none" } }, "", "HF_E1014"],
    [{ cron, run: { package: "kit/count", version: 9 } }, "", "HF_E1014"],
    [{ cron, run: { package: "kit/count", params: { key: 1 } } }, "params.key", "HF_E1002"],
    [{ cron, run, missed: "maybe" }, "", "HF_E1002"],
    [{ cron, run, when: 1 }, "", "HF_E1002"],
  ])) {
    const { status, body: answer } = await put("refused", body);
    assert.ok(status >= 400 && status < 500, JSON.stringify(body));
    assert.equal(answer.error.code, code, `${JSON.stringify(body)}: ${answer.error.message}`);
    assert.ok(answer.error.message.includes(field), `${answer.error.message} names ${field}`);
  }
  for (const name of ["a b", "a.b", "x".repeat(65)]) {
    const { status } = await put(encodeURIComponent(name), { cron, run });
    assert.equal(status, 400, name);
  }
  assert.deepEqual(await w.d1("SELECT COUNT(*) AS n FROM schedules"), before);
});

test("a workflow is created at its time, once", async () => {
  await putOk("durable", { every: "1h", run: { workflow: { code: "return run.surface" } } });
  await dueAt("durable", Date.now() - 10);
  await Promise.all([w.scheduled(1), w.scheduled(2)]);
  const [firing, ...others] = await ended("durable", 1);
  assert.deepEqual(others, []);
  assert.equal((await w.json(`/v1/runs/${firing.runId}`)).body.result, "workflow");
  const now = await w.json("/v1/schedules/durable/run", {});
  assert.equal(now.status, 200, JSON.stringify(now.body));
  await ended("durable", 2);
});

test("a time whose work is gone is refused in the history, and the next one comes", async () => {
  await w.json("/v1/packages/passing", KIT, { method: "PUT" });
  await putOk("gone", { every: "1h", run: { package: "passing/count" } });
  await w.json("/v1/packages/passing", undefined, { method: "DELETE" });
  await dueAt("gone", Date.now() - 10);
  await w.scheduled();
  const [refused] = await until("the refusal", async () => {
    const all = await history("gone");
    return all[0]?.state === "refused" && all;
  });
  assert.equal(refused.error.code, "HF_E1013");
  assert.equal((await w.json("/v1/schedules/gone")).body.state, "active");
});

test("a token manages what it may have run, of its own principal", async () => {
  const token = async (/** @type {string} */ principal, /** @type {string[]} */ scopes) =>
    (await w.json("/v1/tokens", { label: "t", principal, scopes })).body.token;
  const owner = { token: await token("sched", ["packages", "execute", "runs"]) };
  await w.json("/v1/packages/kit", KIT, { method: "PUT", ...owner });
  const invokes = { token: await token("sched", ["invoke:kit/count"]) };
  const reads = { token: await token("sched", ["runs"]) };
  const other = { token: await token("other", ["execute", "runs"]) };
  const body = { every: "1h", run: { package: "kit/count" } };
  assert.equal((await put("mine", body, invokes)).status, 200);
  assert.equal((await put("code", { every: "1h", run: { code: "1" } }, invokes)).status, 403);
  assert.equal((await put("mine", body, reads)).status, 403);
  const at = (/** @type {string} */ place, /** @type {any} */ init) =>
    w.json(`/v1/schedules${place}`, undefined, init);
  assert.equal((await at("/mine", reads)).status, 200);
  assert.equal((await at("/mine", invokes)).status, 403);
  assert.equal((await at("/mine/pause", { method: "POST", ...reads })).status, 403);
  assert.equal((await at("/mine", other)).status, 404);
  assert.deepEqual((await at("", other)).body.schedules, []);
  assert.equal((await at("/mine", { method: "DELETE", ...other })).status, 404);
  assert.equal((await at("/mine", { method: "DELETE", ...invokes })).status, 200);
});

test("MCP tools put, list, pause, run and delete one", async () => {
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
    return answer.body.result.structuredContent;
  };
  const made = await call("schedule_put", {
    name: "from-mcp",
    cron: "0 9 * * 1-5",
    zone: "Europe/Berlin",
    run: { code: "return 6 * 7" },
  });
  assert.equal(made.state, "active", JSON.stringify(made));
  const bad = await call("schedule_put", { name: "bad", cron: "x", run: { code: "1" } });
  assert.equal(bad.errorDetails.code, "HF_E1002");
  const all = await call("schedule_list", {});
  assert.ok(all.schedules.some((/** @type {any} */ one) => one.name === "from-mcp"));
  const run = await call("schedule_run", { name: "from-mcp" });
  assert.equal(run.result, 42, JSON.stringify(run));
  const one = await call("schedule_list", { name: "from-mcp" });
  assert.equal(one.firings[0].runId, run.id, JSON.stringify(one));
  assert.equal((await call("schedule_pause", { name: "from-mcp", paused: "yes" })).state, "paused");
  assert.equal((await call("schedule_pause", { name: "from-mcp", paused: "no" })).state, "active");
  assert.equal((await call("schedule_delete", { name: "from-mcp" })).deleted, true);
});

test(
  "what is due when the power goes is run once when it is back",
  { timeout: 120_000 },
  async (t) => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-schedule-"));
    t.after(() => fs.rmSync(state, { recursive: true, force: true }));
    const first = await startProcess({ state });
    try {
      await first.json("/v1/packages/kit", KIT, { method: "PUT" });
      const body = { once: Date.now() + 1_500, missed: "catch_up", run: { package: "kit/count" } };
      const answer = await first.json("/v1/schedules/power", body, { method: "PUT" });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    } finally {
      await first.kill();
    }
    const second = await start({ state, copies: 2 });
    t.after(() => second.stop());
    await until(
      "its time",
      async () => {
        await Promise.all([second.scheduled(1), second.scheduled(2)]);
        const { body } = await second.json("/v1/schedules/power/history");
        return body.firings[0]?.status === "completed";
      },
      20_000,
    );
    const { result } = await second.execute(`return (await storage.get({ key: "n" })).value`);
    assert.equal(result, 1);
  },
);
