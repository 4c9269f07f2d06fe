// What the record of a run costs, of the worker that ships in workerd, in turns.
//
//   node bench/replay.mjs [--rounds N] [--calls N] [--json]
//
// Recording: a run of 100 calls that read beside the same run on a D1 that takes what is written to the record
// and keeps nothing (bench/workers/unrecorded.js): the tables `journal` and `recordings`. The aim is under 10 %.
// Beside it what keeping the rows of the calls costs (`dispatches`), by which people are told what was called.
// `emit` is the cheapest call that there is, `storage.get` asks D1. What making the lines of the record costs
// before they reach D1 is on both sides; `npm run bench:native` has it.
//
// Replaying: an attempt that goes on behind 100 recorded calls beside one that goes on behind none. Each run
// makes its calls, then waits for a person; it is decided, and goes on. What is compared is the second attempt:
// making the sandbox, reading the record, replaying it, the call that was allowed, storing the end. How long
// it took is what the worker itself noted. The aim is under 50 ms between the medians.
//
// On a machine that does other things besides, the processor time of workerd tells more, where the system does
// (Linux): a replay waits a hundred times for its turn of the loop, and each of them is a chance for others.
import fs from "node:fs";
import { parseArgs } from "node:util";
import { start } from "../tests/worker/harness.mjs";
import { principal } from "../tests/worker/people.mjs";
import { median } from "./lib/statistics.mjs";

const AIM_MS = 50;
const AIM_RATIO = 1.1;

/** What is called, as a program writes it. */
const CALLS = { "storage.get": `tools.storage.get({ key: "k" + i })`, emit: "emit(i)" };

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    calls: { type: "string", default: "100" },
    json: { type: "boolean", default: false },
  },
});
const rounds = Number(options.rounds);
const calls = Number(options.calls);

const w = await start({
  main: "bench/workers/unrecorded.js",
  copies: 3,
  copyVars: [
    {},
    { BENCH_DROPS: "journal recordings" },
    { BENCH_DROPS: "journal recordings dispatches" },
  ],
});
const pid = workerd();
try {
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask" }]);
  /** @type {Record<string, Medians>} */
  const recording = {};
  for (const [name, call] of Object.entries(CALLS)) {
    const on = (/** @type {number} */ copy) => () => reads(w.copies[copy], call);
    recording[name] = await interleaved(rounds, [on(0), on(1), on(2)]);
  }
  const replaying = await interleaved(rounds, [() => goesOn(p, 0), () => goesOn(p, calls)]);
  const told = { calls, rounds, aimRatio: AIM_RATIO, aimMs: AIM_MS, recording, replaying };
  if (options.json) console.log(JSON.stringify(told));
  else {
    const ms = (/** @type {number} */ value) => `${value.toFixed(1)} ms`;
    for (const [clock, what] of /** @type {const} */ ([
      ["wallMs", "wall clock"],
      ["cpuMs", "processor"],
    ])) {
      for (const [name, { [clock]: medians }] of Object.entries(recording)) {
        const [whole = NaN, unrecorded = NaN, bare = NaN] = medians;
        console.log(
          `${what}: ${calls} of ${name}: ${ms(whole)}, without a record ${ms(unrecorded)}: ` +
            `ratio ${(whole / unrecorded).toFixed(2)} (aim: under ${AIM_RATIO}); ` +
            `without rows of calls, too: ${ms(bare)}, ratio ${(whole / bare).toFixed(2)}`,
        );
      }
      const [none = NaN, many = NaN] = replaying[clock];
      console.log(
        `${what}: an attempt behind no recorded call ${ms(none)}, behind ${calls} ${ms(many)}: ` +
          `${ms(many - none)} beyond a fresh load (aim: under ${AIM_MS} ms)`,
      );
    }
  }
} finally {
  await w.stop();
}

/** The process of workerd: a child of this one. Undefined where the system does not tell. */
function workerd() {
  if (!fs.existsSync("/proc/self/stat")) return undefined;
  const children = fs.readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const [, comm, ppid] = /^\d+ \((.*)\) \S (\d+)/.exec(
        fs.readFileSync(`/proc/${name}/stat`, "utf8"),
      ) ?? [""];
      return comm === "workerd" && Number(ppid) === process.pid;
    } catch {
      return false; // it has ended meanwhile
    }
  });
  return children[0];
}

/** Processor time of workerd so far, all of its threads; NaN where the system does not tell. */
function spentMs() {
  if (pid === undefined) return Number.NaN;
  const tasks = fs.readdirSync(`/proc/${pid}/task`);
  const ns = tasks.map((id) =>
    Number(fs.readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]),
  );
  return ns.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** @typedef {Record<"wallMs" | "cpuMs", number[]>} Medians of each way, in order */

/**
 * Medians of ways to do something, which take turns; the first round warms up.
 *
 * @param {number} times
 * @param {(() => Promise<{wallMs: number, cpuMs: number}>)[]} ways
 * @returns {Promise<Medians>}
 */
async function interleaved(times, ways) {
  const took = ways.map((way) => ({ way, all: [{ wallMs: 0, cpuMs: 0 }].slice(1) }));
  for (let round = -1; round < times; round++) {
    for (const { way, all } of round % 2 === 0 ? took : [...took].reverse()) {
      const one = await way();
      if (round >= 0) all.push(one);
    }
  }
  return {
    wallMs: took.map(({ all }) => median(all.map(({ wallMs }) => wallMs))),
    cpuMs: took.map(({ all }) => median(all.map(({ cpuMs }) => cpuMs))),
  };
}

/** A run that only reads. @param {any} copy @param {string} call */
async function reads(copy, call) {
  const before = spentMs();
  const run = await copy.execute(`
    for (let i = 0; i < ${calls}; i++) await ${call};
    return "done";
  `);
  const cpuMs = spentMs() - before;
  if (run.result !== "done") throw new Error(JSON.stringify(run));
  return { wallMs: run.timing.totalMs, cpuMs };
}

/**
 * @param {Awaited<ReturnType<typeof principal>>} p
 * @param {number} n
 */
async function goesOn(p, n) {
  const waiting = await p.run(`
    for (let i = 0; i < ${n}; i++) await tools.storage.get({ key: "k" + i });
    await tools.storage.delete({ key: "gate" });
    return "done";
  `);
  const before = spentMs();
  await p.decide(waiting.approvals[0].id, "allow");
  const run = await p.resume(waiting.id);
  const cpuMs = spentMs() - before;
  if (run.result !== "done") throw new Error(JSON.stringify(run));
  const [row] = await w.d1(
    "SELECT ended_at - began_at AS ms FROM attempts WHERE run_id = ? AND fence = 2",
    waiting.id,
  );
  return { wallMs: row.ms, cpuMs };
}
