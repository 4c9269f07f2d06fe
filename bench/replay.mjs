// What a replay costs: an attempt that goes on behind 100 recorded dispatches beside one that goes on
// behind none, of the same worker in workerd, in turns.
//
//   node bench/replay.mjs [--rounds N] [--calls N] [--json]
//
// Each run makes its calls, then waits for a person; it is decided, and goes on. What is compared is the
// second attempt: making the sandbox, reading the record, replaying it, the call that was allowed, storing
// the end. How long it took is what the worker itself noted; on a machine that does other things besides,
// the processor time of workerd from the decision to the answer tells more, where the system does (Linux).
// The aim is under 50 ms between the medians.
import fs from "node:fs";
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
const pid = workerd();
try {
  const p = await principal(w, [{ pattern: "storage.delete", action: "ask" }]);
  /** @type {Record<string, {wallMs: number[], cpuMs: number[]}>} what each took, none and many */
  const took = {};
  for (let round = -1; round < rounds; round++) {
    const kinds = [
      { kind: "none", n: 0 },
      { kind: "many", n: calls },
    ];
    for (const { kind, n } of round % 2 === 0 ? kinds : kinds.reverse()) {
      const one = await measure(p, n);
      const all = (took[kind] ??= { wallMs: [], cpuMs: [] });
      if (round < 0) continue; // it warms up
      all.wallMs.push(one.wallMs);
      all.cpuMs.push(one.cpuMs);
    }
  }
  const told = { calls, rounds, aimMs: AIM_MS, wallMs: of("wallMs"), cpuMs: of("cpuMs") };
  if (options.json) console.log(JSON.stringify(told));
  else {
    for (const [what, { none, many, beyond, ratio }] of /** @type {const} */ ([
      ["wall clock", told.wallMs],
      ["processor", told.cpuMs],
    ])) {
      const ms = (/** @type {number} */ value) => `${value.toFixed(1)} ms`;
      console.log(
        `${what}: an attempt behind no recorded call ${ms(none)}, behind ${calls} ${ms(many)}: ` +
          `${ms(beyond)} beyond a fresh load, ratio ${ratio.toFixed(2)} (aim: under ${AIM_MS} ms)`,
      );
    }
  }

  /** @param {"wallMs" | "cpuMs"} clock */
  function of(clock) {
    const [none, many] = ["none", "many"].map((kind) => median(took[kind]?.[clock] ?? []));
    const [a, b] = [none ?? Number.NaN, many ?? Number.NaN];
    return { none: a, many: b, beyond: b - a, ratio: b / a };
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
