// Rule: a run that a program invoked may wait for a person as any other. Whoever invoked it waits with it,
// holds nothing, shows the same question, and goes on in the same place when it has ended; nothing is
// done twice, whatever died in between.
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
});
after(() => w.stop());

const RULES = [
  { pattern: "storage.delete", action: "ask" },
  { pattern: "storage.set", when: [{ at: "/key", matches: "gated*" }], action: "ask" },
];

const MODULES = {
  "index.js": `
const count = async (key) => {
  const { value = 0 } = await storage.get({ key });
  await storage.set({ key, value: value + 1 });
  return value + 1;
};
export const gated = async ({ key = "a" } = {}) => {
  const times = await count("begun-" + key);
  await tools.storage.set({ key: "gated-" + key, value: 1 });
  return { times, key };
};
export const twice = async () => [await packages.invoke("kit/gated", { key: "x" }), await packages.invoke("kit/gated", { key: "y" })];
export const outer = async () => ({ inner: await packages.invoke("kit/gated", { key: "deep" }) });
export const slow = async () => {
  await tools.storage.delete({ key: "slow" });
  await sleep(3000);
  return await count("slow");
};
export const plain = () => "plain";`,
};

let made = 0;

/** @param {any} worker */
async function principal(worker) {
  const name = `f${++made}-${Date.now()}`;
  /** @param {string[]} scopes */
  const token = async (scopes) => {
    const answer = await worker.json("/v1/tokens", { label: "t", principal: name, scopes });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.token;
  };
  const agent = await token(["execute", "runs", "packages"]);
  const person = await token(["approve"]);
  const saved = await worker.json(
    "/v1/packages/kit",
    { modules: MODULES },
    { method: "PUT", token: agent },
  );
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  const keeper = await token(["policies"]);
  const put = await worker.json("/v1/policies", { rules: RULES }, { method: "PUT", token: keeper });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  return {
    agent,
    person,
    /** @param {string} code @param {string} [query] */
    async run(code, query = "") {
      const answer = await worker.json(`/v1/runs${query}`, { code }, { token: agent });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    /** @param {string} target @param {string} [query] */
    async invoke(target, query = "") {
      const place = `/v1/packages/${target}${query}`;
      const answer = await worker.json(place, { params: {} }, { token: agent });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    /** @param {string} id @param {string} decision */
    async decide(id, decision) {
      const answer = await worker.json(`/v1/approvals/${id}`, { decision }, { token: person });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    },
    /** @param {string} id */
    async resume(id) {
      const place = `/v1/runs/${id}/resume?wait=20`;
      const answer = await worker.json(place, undefined, { method: "POST", token: agent });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    /** @param {string} id */
    async look(id) {
      return (await worker.json(`/v1/runs/${id}`, undefined, { token: agent })).body;
    },
  };
}

test("an invocation over HTTP and MCP waits with a link that leads here", async () => {
  const p = await principal(w);
  const run = await p.invoke("kit/gated");
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  assert.equal(run.approvals[0].approveUrl, `${w.url}/approvals/${run.approvals[0].id}`);
  await p.decide(run.approvals[0].id, "allow");
  assert.deepEqual((await p.resume(run.id)).result, { times: 1, key: "a" });

  const called = await w.fetch("/mcp", {
    method: "POST",
    token: p.agent,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "package_invoke", arguments: { name: "kit/gated", params: { key: "m" } } },
    }),
  });
  const text = await called.text();
  assert.ok(text.includes(`${w.url}/approvals/apr_`), text);
});

test("a held invocation goes on without another attempt", async () => {
  const p = await principal(w);
  const held = p.invoke("kit/gated", "?hold=20");
  const [open] = await until("the question", async () => {
    const answer = await w.json("/v1/approvals", undefined, { token: p.person });
    return answer.body.approvals.length > 0 && answer.body.approvals;
  });
  await p.decide(open.id, "allow");
  const run = await held;
  assert.equal(run.status, "completed", JSON.stringify(run));
  const [row] = await w.d1("SELECT fence FROM runs WHERE id = ?", run.id);
  assert.equal(row.fence, 1);
  const bad = await w.json("/v1/packages/kit/gated?hold=1000", {}, { token: p.agent });
  assert.deepEqual([bad.status, bad.body.error.code], [400, "HF_E1002"]);
});

test("a program that invoked it waits, shows its question, and goes on", async () => {
  const p = await principal(w);
  const run = await p.run(`
    const draw = Math.random();
    console.log("before", draw);
    const got = await packages.invoke("kit/gated", { key: "n" });
    console.log("after", draw);
    return { draw, got };`);
  assert.equal(run.status, "waiting_approval", JSON.stringify(run));
  assert.equal(run.approvals.length, 1);
  const [child] = await w.d1("SELECT id, status FROM runs WHERE parent_id = ?", run.id);
  assert.equal(child.status, "waiting_approval");
  assert.deepEqual((await p.look(run.id)).approvals, run.approvals);
  assert.deepEqual((await p.look(child.id)).approvals, run.approvals);

  await p.decide(run.approvals[0].id, "allow");
  const ended = await p.resume(run.id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.deepEqual(ended.result.got, { times: 1, key: "n" });
  const lines = ended.logs.map((/** @type {any} */ line) => line.text);
  assert.deepEqual(lines, [`before ${ended.result.draw}`, `after ${ended.result.draw}`]);
  const children = await w.d1("SELECT id FROM runs WHERE parent_id = ?", run.id);
  assert.equal(children.length, 1);
});

test("a declined question is the package's failure, which the program can catch", async () => {
  const p = await principal(w);
  const run = await p.run(`
    try { return await packages.invoke("kit/gated", { key: "d" }); }
    catch (e) { return [e.name, e.code, e.message]; }`);
  await p.decide(run.approvals[0].id, "decline");
  const [name, code, message] = (await p.resume(run.id)).result;
  assert.deepEqual([name, code], ["PackageError", "HF_E1402"]);
  assert.match(message, /storage\.set was declined/);
});

test("three levels wait one after the other, and two runs beside each other", async () => {
  const p = await principal(w);
  const deep = await p.run(`return await packages.invoke("kit/outer")`);
  assert.equal(deep.status, "waiting_approval", JSON.stringify(deep));
  assert.equal(deep.approvals.length, 1);
  await p.decide(deep.approvals[0].id, "allow");
  assert.deepEqual((await p.resume(deep.id)).result, { inner: { times: 1, key: "deep" } });

  const beside = await p.run(`
    return await Promise.all(["b1", "b2"].map((key) => packages.invoke("kit/gated", { key })));`);
  assert.equal(beside.approvals.length, 2, JSON.stringify(beside));
  for (const { id } of beside.approvals) await p.decide(id, "allow");
  const both = await until("both to end", async () => {
    const now = await p.resume(beside.id);
    return now.outcome !== null && now;
  });
  assert.deepEqual(both.result, [
    { times: 1, key: "b1" },
    { times: 1, key: "b2" },
  ]);

  const again = await p.run(`return await packages.invoke("kit/twice")`);
  await p.decide(again.approvals[0].id, "allow");
  const second = await until("the second question", async () => {
    const now = await p.look(again.id);
    const [question] = now.approvals ?? [];
    return question && question.id !== again.approvals[0].id && question;
  });
  await p.decide(second.id, "allow");
  assert.deepEqual((await p.resume(again.id)).result, [
    { times: 1, key: "x" },
    { times: 1, key: "y" },
  ]);
});

test("who cancels the program cancels what waits for it alone", async () => {
  const p = await principal(w);
  const run = await p.run(`return await packages.invoke("kit/gated", { key: "c" })`);
  const [child] = await w.d1("SELECT id FROM runs WHERE parent_id = ?", run.id);
  const answer = await w.json(`/v1/runs/${run.id}/cancel`, {}, { token: p.agent });
  assert.equal(answer.body.status, "cancelled", JSON.stringify(answer.body));
  assert.equal((await p.look(child.id)).status, "cancelled");
  const open = await w.json("/v1/approvals", undefined, { token: p.person });
  assert.deepEqual(open.body.approvals, []);
});

test("who cancels the package's run has the program go on with that failure", async () => {
  const p = await principal(w);
  const run = await p.run(`
    return await packages.invoke("kit/gated", { key: "k" }).catch((e) => e.code);`);
  const [child] = await w.d1("SELECT id FROM runs WHERE parent_id = ?", run.id);
  await w.json(`/v1/runs/${child.id}/cancel`, {}, { token: p.agent });
  assert.equal((await p.resume(run.id)).result, "HF_E1307");
});

test("it goes on after a loss of power, with one run of the package", async () => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-follows-"));
  try {
    let worker = await startProcess({ state });
    const p = await principal(worker);
    const { agent, person } = p;
    const run = await p.run(`return await packages.invoke("kit/gated", { key: "p" })`);
    assert.equal(run.status, "waiting_approval", JSON.stringify(run));
    await worker.kill();
    worker = await startProcess({ state });
    try {
      const init = { token: person };
      const place = `/v1/approvals/${run.approvals[0].id}`;
      await worker.json(place, { decision: "allow" }, init);
      const answer = await worker.json(`/v1/runs/${run.id}/resume?wait=20`, undefined, {
        method: "POST",
        token: agent,
      });
      assert.deepEqual(answer.body.result, { times: 1, key: "p" }, JSON.stringify(answer.body));
    } finally {
      await worker.stop();
    }
  } finally {
    fs.rmSync(state, { recursive: true, force: true });
  }
});

test("who resumes it after kill -9 takes up what it waits for, too", async () => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-follows-"));
  try {
    const first = await startProcess({ state });
    const p = await principal(first);
    const run = await p.run(`return await packages.invoke("kit/slow")`);
    await p.decide(run.approvals[0].id, "allow");
    await sleep(1500);
    await first.kill();
    const second = await start({ state });
    try {
      const lost = await second.d1("SELECT id FROM runs WHERE status = 'running'");
      assert.equal(lost.length, 1, "the package's run was at work, its parent waited");
      await second.d1("UPDATE runs SET lease_until = 1 WHERE status = 'running'");
      const place = `/v1/runs/${run.id}/resume?wait=20`;
      const answer = await second.json(place, undefined, { method: "POST", token: p.agent });
      assert.equal(answer.body.result, 1, JSON.stringify(answer.body));
      assert.equal(answer.body.timing.queuedMs, 0);
      assert.ok(answer.body.timing.earlierMs >= 1500, JSON.stringify(answer.body.timing));
    } finally {
      await second.stop();
    }
  } finally {
    fs.rmSync(state, { recursive: true, force: true });
  }
});
