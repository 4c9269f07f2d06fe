// What the harness costs, beside a bare sub-worker and a bare lent function in the same workerd.
// CPU time of the workerd process (Linux) besides wall time: on a busy machine only the former tells anything.
//
// Usage: node tests/harness/cost.mjs [--rounds N] [--bundle]     --bundle: the harness bundled and minified
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { asProgram } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

const at = process.argv.indexOf("--rounds");
const ROUNDS = at < 0 ? 21 : Number(process.argv[at + 1]);
const MAIN = new URL("../../src/sandbox/harness/harness.js", import.meta.url);

/** The harness as one file. @returns {Promise<Record<string, string>>} */
async function bundled() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(MAIN)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["cloudflare:workers", "program.js"],
  });
  return { "harness.js": outputFiles[0]?.text ?? "" };
}

const harness = process.argv.includes("--bundle") ? await bundled() : undefined;
const workerd = await start();

/** CPU time of workerd so far, in ms; NaN where the system does not tell. */
function cpu() {
  try {
    const tasks = readdirSync(`/proc/${workerd.pid}/task`);
    const ns = tasks.map((id) =>
      Number(readFileSync(`/proc/${workerd.pid}/task/${id}/schedstat`, "utf8").split(" ")[0]),
    );
    return ns.reduce((sum, value) => sum + value, 0) / 1e6;
  } catch {
    return NaN;
  }
}

/** @type {Record<string, { wall: number[], cpu: number[] }>} */
const measured = {};

/** @param {string} name @param {() => Promise<any>} run */
async function measure(name, run) {
  const before = { wall: performance.now(), cpu: cpu() };
  const answer = await run();
  const wall = performance.now() - before.wall;
  if (answer.error !== undefined) throw new Error(answer.error);
  await new Promise((resolve) => setTimeout(resolve, 3)); // What workerd still has to do for it.
  const slot = (measured[name] ??= { wall: [], cpu: [] });
  slot.wall.push(wall);
  slot.cpu.push(cpu() - before.cpu);
}

const calls = (/** @type {number} */ n) =>
  asProgram(`for (let i = 0; i < ${n}; i++) await tools.echo({ i }); return 1;`);

/** A journal of a run of `n` calls. @param {number} n */
async function journalOf(n) {
  const { events, calls: made } = await workerd.post("/run", {
    program: calls(n),
    tools: { echo: { echo: true, bench: true } },
  });
  return {
    events,
    calls: made.map((/** @type {any} */ { hash, at: issued }) => ({
      hash,
      at: issued,
      reply: { value: 1 },
    })),
    logs: 0,
  };
}

try {
  const journal = await journalOf(1_000);
  for (let round = 0; round < ROUNDS; round++) {
    for (const n of [0, 100, 1_000, 5_000]) {
      if (n === 5_000 && round % 5 !== 0) continue;
      await measure(`bare ${n}`, () => workerd.post("/bare", { program: calls(n), params: {} }));
      await measure(`ours ${n}`, () => workerd.post("/lean", { program: calls(n), harness }));
    }
    await measure("replay", () =>
      workerd.post("/lean", { program: calls(1_000), harness, invocation: { journal } }),
    );
  }
  for (const kind of /** @type {const} */ (["cpu", "wall"])) {
    for (const [label, share] of /** @type {[string, number][]} */ ([
      ["fastest", 0],
      ["median", 0.5],
    ])) {
      const of = (/** @type {string} */ name) => {
        const list = measured[name]?.[kind].toSorted((a, b) => a - b) ?? [];
        return list[Math.floor(list.length * share)] ?? NaN;
      };
      const ratio = (/** @type {number} */ ours, /** @type {number} */ bare) =>
        `${ours.toFixed(1)} / ${bare.toFixed(1)} = ${(ours / bare).toFixed(2)}`;
      const each = (/** @type {string} */ who, /** @type {number} */ a, /** @type {number} */ b) =>
        ((of(`${who} ${b}`) - of(`${who} ${a}`)) / (b - a)) * 1_000;
      console.log(
        `${kind}, ${label}: cold load ms ${ratio(of("ours 0"), of("bare 0"))} · dispatch µs, first 1,000: ` +
          `${ratio(each("ours", 0, 1_000), each("bare", 0, 1_000))} · after: ${ratio(each("ours", 1_000, 5_000), each("bare", 1_000, 5_000))} · ` +
          `run of 100 calls ms ${ratio(of("ours 100"), of("bare 100"))} · replay of 1,000 calls ms ${(of("replay") - of("ours 0")).toFixed(1)}`,
      );
    }
  }
} finally {
  await workerd.stop();
}
