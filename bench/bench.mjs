// npm run bench: Holdfast beside its peers and the bare platform, in one workerd.
//
//   npm run bench                     all cases, at most five minutes; writes bench/results/
//   npm run bench -- --quick --json   the short list, in under 50 s once built; JSON on stdout
//   npm run bench -- --case WORD      cases whose name has the word in it
//
// docs/performance.md says what is measured and how to read it.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import workerd from "workerd";
import { staleness } from "../scripts/build.mjs";
import { ROOT } from "../scripts/lib/places.mjs";
import { CASES } from "./cases.mjs";
import { startContenders } from "./lib/contenders.mjs";
import { measure } from "./lib/measure.mjs";
import { memory } from "./lib/memory.mjs";
import { picture } from "./lib/picture.mjs";
import { sizes } from "./lib/sizes.mjs";
import { firstRequests } from "./lib/starts.mjs";
import { table } from "./lib/table.mjs";

const RESULTS = path.join(ROOT, "bench/results");

/** Time for the cases in all; what begins and ends them comes on top. */
const TIME_MS = { quick: 22_000, full: 110_000 };

/** Measured once more in workerd as it comes, without the flags that `npm start` sets. */
const BARE = ["an empty program", "100 tool calls, one by one", "a warm package call"];

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    case: { type: "string" },
    "no-write": { type: "boolean", default: false },
  },
});
const say = (/** @type {string} */ text) => process.stderr.write(`${text}\n`);

const chosen = CASES.filter(
  ({ name, quick }) =>
    (options.case === undefined || name.includes(options.case)) && (!options.quick || quick),
);
build();
const loadBefore = os.loadavg()[0] ?? 0;
const report = {
  at: new Date().toISOString(),
  machine: {
    cores: os.availableParallelism(),
    platform: `${os.platform()} ${os.arch()}`,
    node: process.version,
    workerd: workerd.version,
    loadBefore,
  },
  build: buildKind(),
  sizes: sizes(),
  rows: await measureAll(chosen),
  ...(options.quick || options.case !== undefined
    ? {}
    : {
        bare: await measureAll(
          CASES.filter(({ name }) => BARE.includes(name)),
          { bare: true },
        ),
        starts: await firstRequests(),
        memory: await memory(say),
      }),
};
if (!options.quick && options.case === undefined && !options["no-write"]) {
  fs.mkdirSync(RESULTS, { recursive: true });
  fs.writeFileSync(path.join(RESULTS, "latest.json"), `${JSON.stringify(report, null, 2)}\n`);
  fs.writeFileSync(path.join(RESULTS, "latest.svg"), picture(report));
  fs.writeFileSync(path.join(RESULTS, "latest.txt"), table(report));
}
console.log(options.json ? JSON.stringify(report, null, 2) : table(report));

/** The optimised worker is what is measured; for the short list any that fits the sources will do. */
function build() {
  if (options.quick && staleness() === undefined) return;
  const script = path.join(ROOT, "scripts/build.mjs");
  execFileSync(process.execPath, [script, ...(options.quick ? ["--fast"] : [])], {
    stdio: ["ignore", process.stderr, process.stderr],
  });
}

/**
 * @param {import("./cases.mjs").Case[]} cases
 * @param {Parameters<typeof startContenders>[0]} [how]
 */
async function measureAll(cases, how = {}) {
  const contenders = await startContenders(how);
  try {
    const rows = [];
    for (const one of cases) {
      say(how.bare ? `${one.name}, workerd as it comes` : one.name);
      rows.push(
        await measure(one, contenders, {
          sliceMs: (options.quick ? TIME_MS.quick : TIME_MS.full) / chosen.length,
          minRounds: options.quick ? 1 : 5,
          maxRounds: options.quick ? 60 : 200,
        }),
      );
    }
    return rows;
  } finally {
    await contenders.stop();
  }
}

function buildKind() {
  const told = JSON.parse(fs.readFileSync(path.join(ROOT, "build/holdfast.json"), "utf8"));
  return told.optimised ? "optimised" : "fast";
}
