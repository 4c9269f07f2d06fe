// Rule: the sandbox's side of every case in tests/cases/sandbox holds with the harness alone, in workerd.
// The host is a stand-in without Rust, so cases about recovering, refusing or limiting what only the host sees
// are left to the suite that has the worker.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { guarded } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

const CASES = new URL("../cases/sandbox/", import.meta.url);
const FILES = ["values", "errors", "logs", "tools", "deadlines", "isolation", "lifecycle"];

/** @type {Record<string, string>} */
const ELSEWHERE = {
  "isolation: a static import is refused before anything runs": "needs code::prepare",
  "isolation: node modules cannot be loaded at run time": "needs code::prepare",
  "isolation: platform modules cannot be loaded": "needs code::prepare",
  "isolation: the harness cannot be imported": "needs code::prepare",
  "isolation: memory is bounded": "needs memory",
  "lifecycle: more runs than permits wait in line": "needs permits",
  "lifecycle: a full line is refused at once": "needs permits",
  "lifecycle: waiting in line costs no budget": "needs permits",
};

/**
 * Texts and bytes that JSON would make long or cannot hold.
 *
 * @param {any} value
 * @param {(base64: string) => any} bytes
 * @returns {any}
 */
function expand(value, bytes) {
  if (Array.isArray(value)) return value.map((part) => expand(part, bytes));
  if (typeof value !== "object" || value === null) return value;
  if (value.$repeat) return value.$repeat[0].repeat(value.$repeat[1]);
  if (value.$bytes !== undefined) return bytes(value.$bytes);
  const out = {};
  for (const key of Object.keys(value)) {
    Object.defineProperty(out, key, {
      value: expand(value[key], bytes),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return out;
}

/** Tagged JSON as the plain form; what `src/run/value.rs` does. @param {any} value @returns {any} */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if (!Object.hasOwn(value, "$")) return object(Object.entries(value));
  const { $: tag, v } = value;
  switch (tag) {
    case "undefined":
      return null;
    case "number":
      return v === "-0" ? 0 : v;
    case "date":
      return v ?? "Invalid Date";
    case "bytes":
      return { $bytes: v };
    case "set":
      return v.map(plain);
    case "map": {
      const pairs = [];
      for (let i = 0; i < v.length; i += 2) pairs.push([plain(v[i]), plain(v[i + 1])]);
      return pairs.every(([key]) => typeof key === "string") ? object(pairs) : pairs;
    }
    case "regexp":
      return `/${v}/${value.flags}`;
    case "bigint":
      return v;
    default:
      return object(Object.entries(v));
  }
}

function object(/** @type {any} */ entries) {
  const out = {};
  for (const [key, value] of entries) {
    if (value?.$ === "undefined") continue;
    Object.defineProperty(out, key, {
      value: plain(value),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return out;
}

/** What the host makes of an end. @param {any} answer @param {number} budgetMs @returns {any} */
function outcomeOf({ end, replies }, budgetMs) {
  const kindOfCall = (/** @type {any} */ n) => new Map(replies).get(n)?.error?.kind;
  const failed = (/** @type {any} */ kind, /** @type {any} */ message) => ({
    outcome: "failed",
    kind,
    message,
  });
  const span = budgetMs % 1000 === 0 ? `${budgetMs / 1000}s` : `${budgetMs}ms`;
  switch (end.end) {
    case "finished":
      return { outcome: "completed", value: plain(end.value) };
    case "threw":
      if (end.fault === "timed_out") return failed("timed_out", `after ${span}`);
      return failed(
        end.fault ?? (end.call === null ? undefined : kindOfCall(end.call)) ?? "runtime_error",
        end.text,
      );
    case "unserialisable":
      return failed("serialization_error", end.text);
    case "too_large":
      return failed("limit_exceeded", `the result is over ${end.limit} bytes`);
    case "unlooked":
      return failed(
        end.text === undefined ? "runtime_error" : (end.fault ?? kindOfCall(end.call)),
        `${end.path} was called without await${end.text === undefined ? "" : `: ${end.text}`}`,
      );
    case "timed_out":
      return failed("timed_out", `after ${span}`);
    case "ceiling":
      return failed("timed_out", "the ceiling");
    default:
      return failed(end.end, JSON.stringify(end));
  }
}

const bytesTag = (/** @type {any} */ base64) => ({ $: "bytes", v: base64 });

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

async function runOnce(/** @type {any} */ it) {
  const { code, params = {}, tools = {}, budgetMs = 5_000, cancelAfterMs, expect } = it;
  const answer = await workerd.post(
    "/run",
    {
      program: guarded(code),
      invocation: { params, budgetMs },
      tools: expand(tools, bytesTag),
      cancelAfterMs,
    },
    10 * budgetMs + 3_000,
  );
  assert.equal(answer.error, undefined);
  const got = outcomeOf(answer, budgetMs);
  const said = JSON.stringify({ got, end: answer.end }).slice(0, 2_000);
  assert.equal(got.outcome, expect.outcome, said);
  if (expect.kind !== undefined) assert.equal(got.kind, expect.kind, said);
  if (got.outcome === "failed") {
    assert.ok(
      got.message.length > 0 && Buffer.byteLength(got.message) <= 8_192 + 100,
      "the message's length",
    );
  }
  if (Object.hasOwn(expect, "value")) {
    assert.deepEqual(
      got.value,
      expand(expect.value, (/** @type {any} */ base64) => ({ $bytes: base64 })),
      said.slice(0, 300),
    );
  }
  for (const part of expect.messageIncludes ?? []) {
    assert.ok(got.message.includes(part), `${part} in ${got.message}`);
  }
  let from = 0;
  for (const line of expect.logs ?? []) {
    const at = answer.logs.findIndex(
      (/** @type {any} */ [, level, text], /** @type {number} */ i) =>
        i >= from &&
        level === line.level &&
        (line.text === undefined || text === line.text) &&
        (line.textIncludes ?? []).every((/** @type {any} */ part) => text.includes(part)),
    );
    assert.ok(at >= 0, `${JSON.stringify(line)} in ${JSON.stringify(answer.logs.slice(0, 20))}`);
    from = at + 1;
  }
  const bytes = answer.logs.reduce(
    (/** @type {number} */ sum, /** @type {any} */ [, , text]) => sum + Buffer.byteLength(text),
    0,
  );
  assert.ok(bytes <= 65_536 && answer.logs.length <= 1_000, `logs of ${bytes} bytes`);
  for (const [tool, times] of Object.entries(expect.calls ?? {})) {
    assert.equal(answer.started[tool] ?? 0, times, `calls of ${tool}`);
  }
}

const left = new Set(Object.keys(ELSEWHERE));

for (const file of FILES) {
  for (const it of JSON.parse(readFileSync(new URL(`${file}.json`, CASES), "utf8"))) {
    const name = `${file}: ${it.name}`;
    if (left.delete(name)) continue;
    test(name, async () => {
      for (let i = 0; i < (it.repeat ?? 1); i++) await runOnce(it);
    });
  }
  test(`${file}: the next run works`, async () => {
    await runOnce({ code: 'return "alive";', expect: { outcome: "completed", value: "alive" } });
  });
}

test("the cases that are left to another suite are cases", () => {
  assert.deepEqual([...left], []);
});
