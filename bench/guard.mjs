// What the guard costs: each program with it and without, in one workerd, in turns.
//
//   node bench/guard.mjs [--runs N] [--json]
//
// The ratio is that of the medians; the fastest runs' stands beside it, which a busy machine moves
// least. bench/guard/programs.mjs holds what is run.
import fs from "node:fs";
import { parseArgs } from "node:util";
import { prepareAll } from "../tests/code/prepare.mjs";
import { BARE, ORDINARY } from "./guard/programs.mjs";
import { geometricMean, median } from "./lib/statistics.mjs";
import { serveRaw } from "./lib/workerd.mjs";

const COMPATIBILITY_DATE = "2026-08-01";
const KINDS = /** @type {const} */ (["plain", "guarded"]);

const { values: options } = parseArgs({
  options: { runs: { type: "string", default: "15" }, json: { type: "boolean", default: false } },
});
const runs = Number(options.runs);
const sources = { ...ORDINARY, ...BARE };
const names = Object.keys(sources);

const read = (/** @type {string} */ file) =>
  fs.readFileSync(new URL(file, import.meta.url), "utf8");
const raw = await serveRaw(modules(), { compatibilityDate: COMPATIBILITY_DATE });
try {
  const rows = [];
  for (const [at, name] of names.entries()) rows.push({ name, ...(await measure(at, name)) });
  tell(rows);
} finally {
  await raw.stop();
}

/** The programs, prepared both ways by the real `code::prepare`. */
function modules() {
  const prepared = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      prepareAll(Object.values(sources).map((source) => ({ source, guard: kind === "guarded" }))),
    ]),
  );
  /** @type {Record<string, string>} */
  const found = {
    "bench/guard/worker.js": read("guard/worker.mjs"),
    "src/sandbox/harness/guard.js": read("../src/sandbox/harness/guard.js"),
  };
  const imports = [];
  for (const [at, name] of names.entries()) {
    for (const kind of KINDS) {
      const { module, refusal } = prepared[kind]?.[at] ?? {};
      if (module === undefined) throw new Error(`${name}: ${refusal?.message}`);
      found[`bench/guard/${kind}-${at}.js`] = module;
      imports.push(`import ${kind}${at} from "./${kind}-${at}.js";`);
    }
  }
  const list = names.map((_, at) => `{ plain: plain${at}, guarded: guarded${at} }`);
  found["bench/guard/prepared.js"] =
    `${imports.join("\n")}\nexport const programs = [${list.join(", ")}];\n`;
  return found;
}

/**
 * @param {number} at
 * @param {string} name
 */
async function measure(at, name) {
  /** @type {Record<string, number[]>} */
  const times = { plain: [], guarded: [] };
  let wanted;
  // The first of each only warms up.
  for (let run = 0; run <= runs; run += 1) {
    for (const kind of run % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const from = raw.spentMs();
      const response = await fetch(`${raw.url}/?program=${at}&kind=${kind}`);
      const value = await response.text();
      const spent = raw.spentMs() - from;
      if (!response.ok) throw new Error(`${name}, ${kind}: ${value}`);
      wanted ??= value;
      if (value !== wanted) throw new Error(`${name}, ${kind}: ${value}, not ${wanted}`);
      if (run > 0) times[kind]?.push(spent);
    }
  }
  const { plain = [], guarded = [] } = times;
  return {
    plainMs: median(plain),
    guardedMs: median(guarded),
    ratio: median(guarded) / median(plain),
    ratioOfFastest: Math.min(...guarded) / Math.min(...plain),
  };
}

/** @param {({ name: string } & Awaited<ReturnType<typeof measure>>)[]} rows */
function tell(rows) {
  const ordinary = rows.filter(({ name }) => name in ORDINARY);
  const means = {
    ratio: geometricMean(ordinary.map(({ ratio }) => ratio)),
    ratioOfFastest: geometricMean(ordinary.map(({ ratioOfFastest }) => ratioOfFastest)),
  };
  if (options.json) {
    console.log(JSON.stringify({ runs, programs: rows, ordinary: means }, null, 2));
    return;
  }
  const percent = (/** @type {number} */ ratio) =>
    `${((ratio - 1) * 100).toFixed(1)} %`.padStart(10);
  const ms = (/** @type {number} */ time) => time.toFixed(1).padStart(10);
  const width = Math.max(...rows.map(({ name }) => name.length));
  const head = ["plain ms", "guarded", "cost", "fastest"].map((text) => text.padStart(10)).join("");
  console.log(`${`medians of ${runs}`.padEnd(width)}${head}`);
  for (const { name, plainMs, guardedMs, ratio, ratioOfFastest } of rows) {
    console.log(
      name.padEnd(width) + ms(plainMs) + ms(guardedMs) + percent(ratio) + percent(ratioOfFastest),
    );
  }
  const mean = `ordinary ones, geometric mean`.padEnd(width + 20);
  console.log(`${mean}${percent(means.ratio)}${percent(means.ratioOfFastest)}`);
}
