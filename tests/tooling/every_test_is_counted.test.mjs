// Rule: the totals of `npm test` are sums over what the runners say, and no skip gets lost.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { childEnv, run } from "../../scripts/lib/command.mjs";
import { REPORTERS, countCargo, countNode } from "../../scripts/test.mjs";

test("cargo: the binaries and the doc tests are added up, the ignored ones named", () => {
  const text = [
    "running 3 tests",
    "test a_rule ... ok",
    "test slow ... ignored, needs an hour",
    "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0s",
    "   Doc-tests holdfast",
    "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
  ].join("\n");
  assert.deepEqual(countCargo(text), {
    passed: 6,
    failed: 1,
    skipped: ["slow ... ignored, needs an hour"],
  });
});

test("node: passed, failed and skipped ones of a real run, each skip with its reason", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "sample.test.mjs");
  fs.writeFileSync(
    file,
    `import { test } from "node:test";
     test("passes", () => {});
     test("fails", () => { throw new Error("on purpose"); });
     test("left out", { skip: "no browser" }, () => {});
     test("not written", { todo: "later" }, () => {});
     test("outer", async (t) => { await t.test("inner", { skip: "no network" }, () => {}); });`,
  );
  const env = childEnv({ NO_COLOR: "1" });
  delete env.FORCE_COLOR;
  delete env.NODE_TEST_CONTEXT; // else the run inside reports to the one outside
  const { text } = await run(process.execPath, ["--test", ...REPORTERS, file], { env });
  const counts = countNode(text);
  assert.deepEqual(counts, {
    passed: 2,
    failed: 1,
    skipped: ["left out: no browser", "not written: later", "inner: no network"],
  });
});

test("node: a run that does not come to its end counts as a failure", () => {
  assert.deepEqual(countNode("ℹ pass 7"), { passed: 0, failed: 1, skipped: [] });
});
