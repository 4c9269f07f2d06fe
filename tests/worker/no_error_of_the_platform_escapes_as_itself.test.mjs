// Rule: whatever the platform throws at us, and wherever, what leaves the worker is of the
// catalogue: no bare TimeoutError or AbortError, nothing of what it said, no stack, no URL. A
// timeout that is not ours is never reported as one of ours.
import assert from "node:assert/strict";
import { test } from "node:test";
import { overHttp } from "./cases/over-http.mjs";
import { until } from "./harness.mjs";

const PROGRAM = `
  const seen = [];
  for (const call of [
    () => tools.job({ n: 1 }),
    () => tools.http.fetch({ url: "https://allowed.example/" }),
    () => fetch("https://allowed.example/").then((answer) => answer.text()),
    () => storage.get({ key: "k" }),
    () => storage.set({ key: "k", value: 1 }),
  ]) {
    try {
      await call();
    } catch (error) {
      seen.push({ name: error.name, message: error.message, code: error.code, cause: error.cause });
      console.error(error);
    }
  }
  return seen;`;

/** What must not be read outside: names of the platform's errors, and what the planted ones say. */
const LEAKED =
  /TimeoutError|AbortError|DOMException|planted|inside\.example|k-5f1c|inside\.js|\n\s+at /;

const PLACES = {
  attempt: "sandbox_gone",
  loader: "create_failed",
  evaluate: "sandbox_gone",
  "evaluate at once": "sandbox_gone",
  tools: "completed",
  call: "completed",
  "call at once": "completed",
  fetch: "completed",
  body: "completed",
  db: "storage_error",
};

for (const [place, end] of Object.entries(PLACES)) {
  for (const name of ["TimeoutError", "AbortError"]) {
    test(`a ${name} planted in ${place}`, async (t) => {
      const { worker: w, stop } = await overHttp({
        main: "tests/worker/support/planted.js",
        vars: {
          HOLDFAST_TEST_PLANT: `${place} ${name}`,
          HOLDFAST_HTTP_HOSTS: "allowed.example",
        },
      });
      t.after(stop);
      const answers = [await w.json("/v1/runs", { code: PROGRAM, label: "swept" })];
      const { id } = answers[0]?.body ?? {};
      answers.push(await w.json("/v1/runs", { code: "return await tools.job({ n: 2 });" }));
      answers.push(await w.json("/v1/runs"), await w.json("/v1/runs/run_0"));
      answers.push(await w.json("/v1/runs/run_0/cancel", {}), await w.json("/health"));
      if (id !== undefined) answers.push(await w.json(`/v1/runs/${id}`));
      for (const [tool, given] of Object.entries({
        execute: { code: PROGRAM },
        run_get: { id: id ?? "run_0" },
        run_list: {},
      })) {
        const answer = await w.fetch("/mcp", {
          method: "POST",
          headers: { accept: "*/*", "content-type": "application/json" },
          body: JSON.stringify({
            ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
            params: { name: tool, arguments: given },
          }),
        });
        const text = await answer.text();
        assert.match(text, /"jsonrpc"|"error"/);
        assert.doesNotMatch(text, LEAKED);
      }
      // Nobody waits for the schedule's answer: what failed in it is told to the operator, once, by
      // its code, and the schedule itself ends well.
      const from = w.logs.length;
      assert.equal(await w.scheduled(), "ok");
      const told = () => w.logs.slice(from).filter((line) => /HF_E\d{4}/.test(line));
      if (place === "db") {
        await until("the failed schedule to be told", async () => told().length > 0);
        assert.match(told()[0] ?? "", /^error: .*HF_E17\d\d/);
      }
      assert.equal(told().length, place === "db" ? 1 : 0, told().join("\n"));
      assert.equal((await w.fetch("/health")).status, 200);
      for (const { body } of answers) assert.doesNotMatch(JSON.stringify(body), LEAKED);

      const [{ body: first } = { body: undefined }, { body: second } = { body: undefined }] =
        answers;
      for (const body of [first, second]) {
        const details = body.errorDetails ?? body.error;
        if (details === undefined) continue;
        assert.match(details.code, /^HF_E\d{4}$/);
        assert.notEqual(details.isTimeout, true, details.message);
        assert.ok(!["timed_out", "cancelled"].includes(details.kind), details.message);
      }
      const came = first.errorDetails?.kind ?? first.error?.kind ?? first.outcome;
      assert.equal(came, end, JSON.stringify(first));
      if (place.startsWith("call") || place === "tools") {
        assert.equal(second.errorDetails.kind, "tool_error", second.error);
        assert.match(second.error, /job/);
      }
    });
  }
}

test("a program's own AbortSignal.timeout is its own error", async (t) => {
  const { worker: w, stop } = await overHttp();
  t.after(stop);
  for (const code of [
    `const signal = AbortSignal.timeout(20);
     await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));`,
    'throw new DOMException("The operation was aborted due to timeout", "TimeoutError");',
    'throw new DOMException("The operation was aborted", "AbortError");',
    `const controller = new AbortController();
     setTimeout(() => controller.abort(), 10);
     await new Promise((_, reject) =>
       controller.signal.addEventListener("abort", () => reject(controller.signal.reason)));`,
    "AbortSignal.abort().throwIfAborted();",
    'throw Object.assign(new Error("Execution timed out after 90s"), { kind: "timed_out", code: "HF_E1302" });',
  ]) {
    const run = await w.execute({ code, budgetMs: 3_000 });
    assert.equal(run.errorDetails.kind, "runtime_error", `${code}\n${run.error}`);
    assert.equal(run.errorDetails.code, "HF_E1301");
    assert.equal(run.errorDetails.isTimeout, false);
  }
});

test("a tool that breaks tells nothing of what it is made of", async (t) => {
  const sandbox = await overHttp();
  t.after(sandbox.stop);
  const secret = "s3cr3t-of-the-tool";
  const inside = `connect https://inside.example:8443/db?key=${secret} failed\\n    at Pool.connect (pool.js:3:1)`;
  /** @type {import("./cases/runner.mjs").Order["tools"][]} */
  const brokenTools = [
    { job: { rejects: { name: "TimeoutError", message: inside } } },
    { job: { rejects: { name: "AbortError", message: inside } } },
    { job: { rejects: { name: "TypeError", message: inside } } },
    { job: { rejects: { message: "" } } },
    { job: { returns: 1 }, listing: { rejects: { message: inside } } },
  ];
  for (const broken of brokenTools) {
    for (const code of [
      "return await tools.job({});",
      "try { await tools.job({}); } catch (e) { console.error(e); return [e.name, e.message, e.code, String(e.cause)]; }",
      'try { await tools.job({}); } catch (e) { throw new Error("wrapped", { cause: e }); }',
      "await Promise.any([tools.job({}), tools.job({})]);",
    ]) {
      const run = await sandbox.start({ code, tools: broken, budgetMs: 5_000, limits: {} });
      const ended = await run.ended;
      const { body } = await sandbox.worker.json("/v1/runs?limit=1");
      const stored = await sandbox.worker.json(`/v1/runs/${body.runs[0].id}`);
      for (const text of [
        JSON.stringify(ended),
        JSON.stringify(stored.body),
        JSON.stringify(body),
      ]) {
        assert.doesNotMatch(text, /s3cr3t|inside\.example|pool\.js|TimeoutError|AbortError/);
      }
      assert.ok(ended.outcome === "completed" || (ended.message ?? "") !== "");
    }
  }
});
