// Rule: every case in tests/cases/sandbox, and in tests/cases/endings, which is ours, ends as it
// says, in the worker that ships, over HTTP.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";
import { readCases } from "./cases/case.mjs";
import { overHttp } from "./cases/over-http.mjs";
import { runCases } from "./cases/runner.mjs";

/** @type {Awaited<ReturnType<typeof overHttp>>} */
let sandbox;
before(async () => {
  sandbox = await overHttp();
});
after(() => sandbox.stop());

/** What no local workerd offers, so that only a deployed worker can show it. */
const NOT_HERE = ["memory"];

const FOLDERS = ["tests/cases/sandbox", "tests/cases/endings"];

for (const { file, cases } of FOLDERS.flatMap((folder) => readCases(path.join(ROOT, folder)))) {
  test(`${path.basename(path.dirname(file))}/${path.basename(file)}`, async (t) => {
    for (const { name, result, reasons } of await runCases(sandbox, cases)) {
      const needs = cases.find((one) => one.name === name)?.needs ?? [];
      if (result === "skipped" && needs.some((need) => NOT_HERE.includes(need))) {
        t.diagnostic(`skipped: ${name}: ${reasons.join("; ")}`);
      } else {
        await t.test(name, () => assert.equal(result, "passed", reasons.join("\n")));
      }
    }
  });
}

test("a caller that asks for the end gets it as one that hangs up does", async (t) => {
  const asking = await overHttp({ cancelBy: "request" });
  t.after(asking.stop);
  const [read] = readCases(path.join(ROOT, "tests/cases/sandbox/lifecycle.json"));
  const cancelled = read?.cases.filter(({ cancelAfterMs }) => cancelAfterMs !== undefined) ?? [];
  assert.ok(cancelled.length > 0);
  for (const { name, result, reasons } of await runCases(asking, cancelled)) {
    assert.equal(result, "passed", `${name}: ${reasons.join("\n")}`);
  }
});
