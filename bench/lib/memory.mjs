// What runs leave behind: the resident memory of a workerd that has done nothing else, after a
// hundred and after a thousand of them. Linux only: elsewhere it is left out.
import fs from "node:fs";
import { startContenders } from "./contenders.mjs";
import { median } from "./statistics.mjs";
import { children } from "./workerd.mjs";

const FEW = 100;
const MANY = 1_000;

/** After it the collector has had its chance, as it has between two requests of a quiet worker. */
const REST_MS = 1_500;

/** @type {{ name: string, who: "holdfast" | "floor" | "storing", kind: "run" | "warm", bare?: boolean }[]} */
const KINDS = [
  { name: "Holdfast, a program each", who: "holdfast", kind: "run" },
  { name: "the floor, a program each", who: "floor", kind: "run" },
  { name: "the floor, storing, a program each", who: "storing", kind: "run" },
  { name: "Holdfast, a warm package", who: "holdfast", kind: "warm" },
  { name: "the floor, one warm worker", who: "floor", kind: "warm" },
  { name: "the floor, storing, one warm worker", who: "storing", kind: "warm" },
  {
    name: "Holdfast, a program each, workerd as it comes",
    who: "holdfast",
    kind: "run",
    bare: true,
  },
];

/**
 * @param {(text: string) => void} say
 * @returns {Promise<{ name: string, after100: number, after1000: number, medianMs: number }[] | undefined>} bytes
 */
export async function memory(say) {
  if (!fs.existsSync("/proc/self/status")) return undefined;
  const found = [];
  for (const { name, who, kind, bare } of KINDS) {
    say(`memory: ${name}`);
    const before = new Set(children());
    const contenders = await startContenders({ instrumented: false, bare: bare ?? false });
    try {
      const pids = children().filter((pid) => !before.has(pid));
      const one = { name, body: "return 1;", kind, result: 1 };
      const ask = contenders.asks[who](one);
      if (ask === undefined) throw new Error(`${who} does not do ${kind}`);
      /** @type {number[]} */
      const times = [];
      const run = async (/** @type {number} */ count) => {
        // One after another: the time of each is told, too.
        for (let done = 0; done < count; done += 1) times.push((await ask(one)).ms);
        await new Promise((resolve) => setTimeout(resolve, REST_MS));
        return resident(pids);
      };
      const after100 = await run(FEW);
      const after1000 = await run(MANY - FEW);
      found.push({ name, after100, after1000, medianMs: median(times) });
    } finally {
      await contenders.stop();
    }
  }
  return found;
}

/** @param {string[]} pids @returns {number} bytes */
function resident(pids) {
  const sizes = pids.map((pid) => {
    const status = fs.existsSync(`/proc/${pid}/status`)
      ? fs.readFileSync(`/proc/${pid}/status`, "utf8")
      : "";
    return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
