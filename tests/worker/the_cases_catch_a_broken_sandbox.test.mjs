// Rule: the cases can fail. Each of these sandboxes is broken in one way, and fails exactly the
// cases that are about it: of the files where some should fail, and of one where none should.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";
import { readCases } from "./cases/case.mjs";
import { judge, judgeCalls } from "./cases/judge.mjs";
import { overHttp } from "./cases/over-http.mjs";
import { runCases } from "./cases/runner.mjs";

/** @typedef {import("./cases/runner.mjs").Sandbox} Sandbox */

const CASES = path.join(ROOT, "tests/cases/sandbox");

/** Nothing of it is about what is broken below. */
const CONTROL = "values";

/**
 * By what is broken: the cases that must fail, by file.
 *
 * @type {Record<string, Record<string, string[]>>}
 */
const BROKEN = {
  "swallows the timeout": {
    // All that end at the budget. The ceiling is the host's, and still ends its case.
    deadlines: [
      "autonomous time over the budget kills it",
      "waiting earns no credit",
      "a loop of timers",
      "synchronous endless loop",
      "endless microtasks",
      "replacing setTimeout",
      "clearing every timer id",
      "replacing Date.now",
      "assigning to the harness's counters",
      "an unawaited call does not stop the clock for ever",
      "a running interval is not a deadlock",
    ],
    logs: [
      "logs before a timeout are kept",
      "logs before a killed loop are kept up to the last await",
    ],
  },
  "ignores the dispatch budget": { tools: ["the call budget ends a loop"] },
  "loses logs": {
    logs: [
      "all five levels are captured in order",
      "objects are readable",
      "values that JSON cannot hold",
      "logs before a throw are kept",
      "logs before a timeout are kept",
      "logs before a killed loop are kept up to the last await",
      "a flood keeps its head and its tail",
      "one enormous line is cut",
    ],
    errors: ["an unhandled rejection is logged, not swallowed"],
  },
  "reports a falsy throw as success": {
    errors: ["throw null", "throw undefined", "throw an empty string"],
  },
  "reports an empty error as success": {
    errors: ["throw an error without a message"],
    tools: ["a tool error with an empty message still throws"],
  },
  "keeps globals": { isolation: ["globals do not last"] },
  "leaks an internal error": {
    tools: [
      "an unknown tool",
      "an uncaught tool error names the tool",
      "the call budget ends a loop",
      "an unawaited call that had already failed",
    ],
  },
};

/** @param {Sandbox} sandbox @returns {Sandbox} */
const withoutDispatchBudget = (sandbox) => ({
  ...sandbox,
  start({ limits: { dispatches: _, ...limits }, ...order }) {
    return sandbox.start({ ...order, limits });
  },
});

for (const [how, expected] of Object.entries(BROKEN)) {
  test(`a sandbox that ${how} fails its cases and no others`, async (t) => {
    // The host keeps this one, whatever its sandbox does.
    const isHosts = how === "ignores the dispatch budget";
    const worker = await overHttp(
      isHosts
        ? {}
        : {
            main: "tests/worker/support/tampered.js",
            vars: { HOLDFAST_TEST_TAMPER: how },
          },
    );
    t.after(worker.stop);
    const sandbox = isHosts ? withoutDispatchBudget(worker) : worker;
    for (const [file, names] of Object.entries({ ...expected, [CONTROL]: [] })) {
      const [read] = readCases(path.join(CASES, `${file}.json`));
      assert.ok(read);
      for (const name of names) {
        assert.ok(
          read.cases.some((one) => one.name === name),
          `there is no case ${name} in ${file}`,
        );
      }
      const verdicts = await runCases(sandbox, read.cases);
      const failed = verdicts.filter(({ result }) => result === "failed");
      const said = failed.map(({ name, reasons }) => `${name}: ${reasons.join("; ")}`).join("\n");
      assert.deepEqual(failed.map(({ name }) => name).sort(), [...names].sort(), said);
    }
  });
}

test("the judge complains about each thing that a case can expect", () => {
  const logs = [{ level: "log", text: "a" }];
  /** @type {import("./cases/judge.mjs").Ended} */
  const completed = { outcome: "completed", value: { n: 1 }, logs };
  /** @type {import("./cases/judge.mjs").Ended} */
  const failed = { outcome: "failed", kind: "tool_error", message: "mail: down", logs };
  const fine = /** @type {const} */ ([
    [{ outcome: "completed", value: { n: 1 }, logs: [{ level: "log", text: "a" }] }, completed],
    [{ outcome: "failed", kind: "tool_error", messageIncludes: ["mail", "down"] }, failed],
    [{ outcome: "failed" }, { ...failed, outcome: "cancelled", kind: "cancelled" }],
  ]);
  for (const [expect, ended] of fine)
    assert.deepEqual(judge(/** @type {any} */ (expect), ended), []);
  const wrong = /** @type {const} */ ([
    [{ outcome: "failed" }, completed],
    [{ outcome: "completed", value: { n: 2 } }, completed],
    [{ outcome: "completed", value: null }, completed],
    [{ outcome: "completed", logs: [{ level: "warn", text: "a" }] }, completed],
    [{ outcome: "completed", logs: [{ level: "log", textIncludes: ["b"] }] }, completed],
    [
      {
        outcome: "completed",
        logs: [
          { level: "log", text: "a" },
          { level: "log", text: "a" },
        ],
      },
      completed,
    ],
    [{ outcome: "failed", kind: "runtime_error" }, failed],
    [{ outcome: "failed", messageIncludes: ["up"] }, failed],
    [{ outcome: "failed" }, { ...failed, kind: "internal_error" }],
    [{ outcome: "failed" }, { ...failed, message: "" }],
    [{ outcome: "failed" }, { ...failed, message: "é".repeat(4_097) }],
    [{ outcome: "failed" }, { ...failed, message: "x\n    at call (harness.js:1:2)" }],
    [{ outcome: "completed" }, { ...completed, logs: [{ level: "log", text: "x".repeat(8_193) }] }],
    [
      { outcome: "completed" },
      { ...completed, logs: Array(9).fill({ level: "log", text: "x".repeat(8_000) }) },
    ],
  ]);
  for (const [expect, ended] of wrong) {
    const complaints = judge(/** @type {any} */ (expect), /** @type {any} */ (ended));
    assert.notDeepEqual(complaints, [], JSON.stringify(expect));
  }
  assert.deepEqual(judgeCalls({ a: 1, b: 0 }, { a: 1 }), []);
  assert.equal(judgeCalls({ a: 1, b: 0 }, { a: 2, b: 1 }).length, 2);
});

test("a field that nobody reads is refused with its file", async (t) => {
  const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const one = { name: "n", code: "return 1", expect: { outcome: "completed" } };
  const file = path.join(folder, "cases.json");
  for (const [cases, complaint] of /** @type {const} */ ([
    [[{ ...one, expect: { outcome: "completed", valeu: 1 } }], /valeu/],
    [[{ ...one, tools: { a: { return: 1 } } }], /return/],
    [[{ ...one, expect: {} }], /outcome/],
    [[one, one], /taken/],
    [{}, /no list/],
  ])) {
    writeFileSync(file, JSON.stringify(cases));
    assert.throws(() => readCases(folder), complaint);
  }
  writeFileSync(file, JSON.stringify([one]));
  assert.equal(readCases(folder)[0]?.cases.length, 1);
});
