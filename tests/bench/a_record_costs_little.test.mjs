// Rule: keeping the record of a run costs a small share of it, and an attempt that goes on behind a hundred
// recorded calls takes little longer than one behind none. Ratios of processor time, where the system tells it,
// of ways that take turns in one workerd.
//
// Measured on a quiet machine (docs/performance.md) they are 1.0 and 1.2: the bounds notice a write or a read
// of the database more for each call, not a few per cent.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";

test("recording and replaying a hundred calls", { timeout: 120_000 }, () => {
  const args = [path.join(ROOT, "bench/replay.mjs"), "--rounds", "5", "--json"];
  const told = JSON.parse(
    execFileSync(process.execPath, args, { encoding: "utf8", timeout: 110_000 }),
  );
  /** @param {any} medians @returns {number[]} */
  const of = ({ wallMs, cpuMs }) => (typeof cpuMs[0] === "number" ? cpuMs : wallMs);
  for (const [name, medians] of Object.entries(told.recording)) {
    const [whole = NaN, unrecorded = NaN] = of(medians);
    assert.ok(whole / unrecorded <= 1.3, `${name}: ${whole} ms, ${unrecorded} ms without a record`);
  }
  const [none = NaN, many = NaN] = of(told.replaying);
  assert.ok(many / none <= 2, `${many} ms behind ${told.calls} calls, ${none} ms behind none`);
});
