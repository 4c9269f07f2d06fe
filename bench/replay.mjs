// What a replay costs: an attempt that goes on behind 100 recorded dispatches beside one that goes on
// behind none, of the same worker in workerd, in turns.
//
//   node bench/replay.mjs [--rounds N] [--calls N] [--json]
//
// Each run makes its calls, then waits for a person; it is decided, and goes on. What is compared is how
// long the second attempt took, as the worker itself noted it: making the sandbox, reading the record,
// replaying it, the call that was allowed, storing the end. The aim is under 50 ms between the medians.
import { parseArgs } from "node:util";
import { start } from "../tests/worker/harness.mjs";
import { principal } from "../tests/worker/people.mjs";
import { median } from "./lib/statistics.mjs";

const AIM_MS = 50;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    calls: { type: "string", default: "100" },
    json: { type: "boolean", default: false },
  },
});
const rounds = Number(options.rounds);
const calls = Number(options.calls);

const w = await start();
try {
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask" }]);
  /** @type {Map<number, number[]>} how long an attempt took that went on behind so many calls */
  const took = new Map([
    [0, []],
    [calls, []],
  ]);
  for (let round = -1; round < rounds; round++) {
    for (const n of round % 2 === 0 ? [0, calls] : [calls, 0]) {
      const ms = await measure(p, n);
      // The first round warms up.
      if (round >= 0) took.get(n)?.push(ms);
    }
  }
  const [none = Number.NaN, many = Number.NaN] = [0, calls].map((n) => median(took.get(n) ?? []));
  const [least, most] = [0, calls].map((n) => Math.min(...(took.get(n) ?? [])));
  const told = {
    calls,
    rounds,
    medianMs: { none, many, beyond: many - none, ratio: many / none },
    fastestMs: { none: least, many: most, beyond: (most ?? 0) - (least ?? 0) },
    aimMs: AIM_MS,
  };
  if (options.json) console.log(JSON.stringify(told));
  else {
    const ms = (/** @type {number} */ value) => `${value.toFixed(0)} ms`;
    console.log(`an attempt behind no recorded call: ${ms(none)}, behind ${calls}: ${ms(many)}`);
    console.log(
      `replay of ${calls}: ${ms(many - none)} beyond a fresh load (ratio ${(many / none).toFixed(2)}, ` +
        `fastest ${ms((most ?? 0) - (least ?? 0))}); the aim is under ${ms(AIM_MS)}`,
    );
  }
} finally {
  await w.stop();
}

/**
 * @param {Awaited<ReturnType<typeof principal>>} p
 * @param {number} n
 */
async function measure(p, n) {
  const waiting = await p.run(`
    for (let i = 0; i < ${n}; i++) await tools.storage.get({ key: "k" + i });
    await tools.storage.delete({ key: "gate" });
    return "done";
  `);
  await p.decide(waiting.approvals[0].id, "allow");
  const run = await p.resume(waiting.id);
  if (run.result !== "done") throw new Error(JSON.stringify(run));
  const [row] = await w.d1(
    "SELECT ended_at - began_at AS ms FROM attempts WHERE run_id = ? AND fence = 2",
    waiting.id,
  );
  return row.ms;
}
