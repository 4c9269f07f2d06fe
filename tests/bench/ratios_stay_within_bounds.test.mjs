// Rule: what a run costs stays within a generous multiple of what the platform itself takes for the
// same, and the guard within a share of what the program takes. Ratios only: Holdfast and the floor
// take turns in one workerd, so a slow machine slows both.
//
// The bounds are a few times what is measured on a quiet machine (docs/performance.md): they notice
// work that grew by a factor, such as one more round trip a call, not a few per cent.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CASES } from "../../bench/cases.mjs";
import { startContenders } from "../../bench/lib/contenders.mjs";
import { measure } from "../../bench/lib/measure.mjs";
import { geometricMean, median, quantile } from "../../bench/lib/statistics.mjs";

/** Rounds of a case; what is compared is processor time, which a busy machine disturbs least. */
const BOUNDS = { sliceMs: 0, minRounds: 12, maxRounds: 12 };

/** @type {Awaited<ReturnType<typeof startContenders>>} */
let contenders;
before(async () => {
  contenders = await startContenders({ instrumented: false });
});
after(() => contenders.stop());

/** @param {string} name */
async function figures(name) {
  const one = CASES.find((known) => known.name === name);
  assert.ok(one, name);
  const { holdfast, floor, storing } = (await measure(one, contenders, BOUNDS)).figures;
  assert.ok(holdfast && floor && storing);
  return { holdfast: holdfast.cpuMs, floor: floor.cpuMs, storing: storing.cpuMs };
}

/**
 * A case, and the most that it may be of the floor, and of the floor that stores.
 *
 * @type {[string, number, number][]}
 */
const MOST = [
  ["an empty program", 10, 5],
  ["10 tool calls, one by one", 25, 5],
  ["a warm package call", 25, 4],
  ["a call with a key", 10, 5],
];

for (const [name, most, mostStoring] of MOST) {
  test(`${name} takes at most ${most} times what the platform takes, ${mostStoring} with storing`, async () => {
    const { holdfast, floor, storing } = await figures(name);
    assert.ok(holdfast <= most * floor, `${holdfast} ms, and ${floor} ms of the platform`);
    assert.ok(holdfast <= mostStoring * storing, `${holdfast} ms, and ${storing} ms with storing`);
  });
}

test("a call that reads takes at most 40 times a bare call to the host", async () => {
  const none = await figures("an empty program");
  const hundred = await figures("100 calls that read, one by one");
  const each = (hundred.holdfast - none.holdfast) / 100;
  const bare = (hundred.floor - none.floor) / 100;
  assert.ok(each <= 40 * bare, `${each} ms, and ${bare} ms of the platform`);
});

test("a call with a key takes at most 3 times one without", async () => {
  const without = await figures("an empty program");
  const keyed = await figures("a call with a key");
  assert.ok(keyed.holdfast <= 3 * without.holdfast, `${keyed.holdfast}, ${without.holdfast} ms`);
});

test("the guard takes at most a third of ordinary programs, and of a bare loop", () => {
  const bench = fileURLToPath(new URL("../../bench/guard.mjs", import.meta.url));
  const told = execFileSync(process.execPath, [bench, "--runs", "5", "--json"], {
    encoding: "utf8",
    timeout: 240_000,
  });
  const { programs, ordinary } = JSON.parse(told);
  assert.ok(ordinary.ratioOfFastest <= 1.33, `${ordinary.ratioOfFastest}`);
  const bare = programs.find((/** @type {any} */ { name }) => name.startsWith("a bare"));
  assert.ok(bare.ratioOfFastest <= 1.5, `${bare.ratioOfFastest}`);
});

test("the statistics are those of values that were measured", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2);
  assert.equal(
    quantile(
      Array.from({ length: 100 }, (_, i) => i + 1),
      0.99,
    ),
    99,
  );
  assert.equal(quantile([7], 0.99), 7);
  assert.ok(Math.abs(geometricMean([0.5, 2]) - 1) < 1e-12);
});
