// Every check and every test, the quick ones first.
//
//   npm test                          all of it, on the optimised build
//   npm test -- rust worker           these stages only, on a fast build
//   npm test -- tests/worker/x.test.mjs
//
// One line a stage; what a failing one said follows it. A folder of tests/ with *.test.mjs files
// in it is a stage. HOLDFAST_NO_SKIP=1 makes every skipped test a failure (.ci/run).
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { COUNTED } from "./lib/count-reporter.mjs";
import { Refusal, childEnv, options, run, script } from "./lib/command.mjs";
import { chromium, installPython, installSchemaSuite } from "./lib/needs.mjs";
import { NODE_BIN, ROOT } from "./lib/places.mjs";
import { setUp } from "./setup.mjs";
import { WASM_TARGET } from "./versions.mjs";

const USAGE = "usage: npm test -- [STAGE | tests/…/FILE.test.mjs]…";

const MINUTE_MS = 60_000;

/** No stage takes nearly so long, cargo's first build on two cores included. */
const STAGE_MS = 30 * MINUTE_MS;

/** A test file, the slowest on a busy machine included. */
const TEST_MS = 5 * MINUTE_MS;

/** Folders of tests/ in the order in which they are run; others follow by name. */
const GROUPS = [
  ...["code", "harness", "tooling", "mocks", "worker", "clients", "deploy", "browser", "bench"],
];

/** Folders of tests/ that `npm test` leaves to commands of their own. */
const ELSEWHERE = ["artefacts", "slow"];

/** One for people, one that is counted from. */
export const REPORTERS = [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  `--test-reporter=${new URL("lib/count-reporter.mjs", import.meta.url)}`,
  "--test-reporter-destination=stderr",
];

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} skipped a line each
 */

/**
 * @typedef {object} Stage
 * @property {string} name
 * @property {[string, ...string[]][]} commands
 * @property {(text: string) => Counts} [count] how its tests are counted; a check has none
 * @property {RegExp} [note] of its output, what is worth showing
 * @property {() => Promise<string | undefined>} [lacks] why it cannot be run here
 * @property {string} [after] a stage that has to succeed first
 */

/** @param {boolean} optimised @returns {Stage[]} */
function stages(optimised) {
  const bin = (/** @type {string} */ name) => path.join(NODE_BIN, name);
  const clippy = ["clippy", "--quiet", "--locked"];
  return [
    { name: "format", commands: [[bin("prettier"), "--check", "--log-level", "warn", "."]] },
    { name: "lint", commands: [[bin("eslint"), "--max-warnings", "0", "."]] },
    { name: "rust-format", commands: [["cargo", "fmt", "--check"]] },
    {
      name: "clippy",
      commands: [["cargo", ...clippy, "--all-targets", "--", "-D", "warnings"]],
    },
    {
      name: "clippy-wasm",
      commands: [["cargo", ...clippy, "--target", WASM_TARGET, "--", "-D", "warnings"]],
    },
    {
      name: "rust",
      // Measurements are run once each: they are programs, too.
      commands: [
        ["cargo", "test", "--locked"],
        [
          "cargo",
          "test",
          "--locked",
          ...["code", "run", "filter"].flatMap((name) => ["--bench", name]),
        ],
      ],
      count: countCargo,
    },
    {
      name: "build",
      commands: [[process.execPath, "scripts/build.mjs", ...(optimised ? [] : ["--fast"])]],
      note: /^Wasm .*$/m,
    },
    {
      name: "types",
      commands: [[bin("tsc")], [bin("tsc"), "--project", "src"]],
      after: "build", // src/entry.js imports what it makes
    },
    ...groups().map((name) => group(name)),
  ];
}

/** @returns {string[]} */
function groups() {
  const found = fs
    .readdirSync(path.join(ROOT, "tests"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !ELSEWHERE.includes(entry.name))
    .map(({ name }) => name)
    .filter((name) => testFiles(name).length > 0);
  const place = (/** @type {string} */ name) =>
    GROUPS.includes(name) ? GROUPS.indexOf(name) : GROUPS.length;
  return found.sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/**
 * @param {string} folder of tests/
 * @returns {string[]}
 */
function testFiles(folder) {
  return fs
    .readdirSync(path.join(ROOT, "tests", folder), { recursive: true })
    .map((name) => path.join("tests", folder, String(name)))
    .filter((name) => name.endsWith(".test.mjs"))
    .sort();
}

/**
 * @param {string} name a folder of tests/
 * @param {string[]} [files]
 * @returns {Stage}
 */
function group(name, files = testFiles(name)) {
  return {
    name,
    commands: [
      [
        path.join(NODE_BIN, "node"),
        "--test",
        ...REPORTERS,
        `--test-timeout=${TEST_MS}`,
        `--test-concurrency=${atOnce(name)}`,
        ...files,
      ],
    ],
    count: countNode,
    after: "build",
    ...(name === "browser" ? { lacks: async () => (await chromium()).missing } : {}),
  };
}

/**
 * How many test files run at once: a worker and its test want a core each, and times are measured;
 * the deploy's measure none, and are processes that wait for each other.
 *
 * @param {string} name a folder of tests/
 */
function atOnce(name) {
  const cores = os.availableParallelism();
  return name === "deploy" ? cores + 1 : Math.max(1, Math.floor(cores / 2));
}

/** @type {(text: string) => Counts} what cargo test says, doc tests included */
export function countCargo(text) {
  const counts = { passed: 0, failed: 0, skipped: /** @type {string[]} */ ([]) };
  for (const [, passed, failed] of text.matchAll(
    /^test result: .*? (\d+) passed; (\d+) failed;/gm,
  )) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
  }
  counts.skipped = [...text.matchAll(/^test (.* \.\.\. ignored.*)$/gm)].map(([, line]) =>
    String(line),
  );
  return counts;
}

/** @type {(text: string) => Counts} what our reporter says at the end */
export function countNode(text) {
  const [, line] = new RegExp(`^${COUNTED}(.*)$`, "m").exec(text) ?? [];
  return JSON.parse(line ?? '{ "passed": 0, "failed": 1, "skipped": [] }');
}

/**
 * What was asked for: stages by name, test files by path; everything when nothing was.
 *
 * @param {string[]} asked
 * @returns {Stage[]}
 */
function chosen(asked) {
  const all = stages(asked.length === 0);
  if (asked.length === 0) return all;
  /** @type {Map<string, string[]>} */
  const files = new Map();
  /** @type {Set<string>} */
  const names = new Set();
  for (const one of asked) {
    const file = path.relative(ROOT, path.resolve(one));
    const [top, folder] = file.split(path.sep);
    if (top === "tests" && folder && file.endsWith(".test.mjs") && fs.existsSync(one)) {
      files.set(folder, [...(files.get(folder) ?? []), file]);
      names.add(folder);
    } else if (all.some(({ name }) => name === one)) {
      names.add(one);
    } else {
      throw new Refusal(
        `There is no stage ${one}. Stages: ${all.map(({ name }) => name).join(", ")}; ` +
          "or a file tests/…/*.test.mjs",
      );
    }
  }
  for (const { name, after } of all) if (names.has(name) && after) names.add(after);
  return all
    .filter(({ name }) => names.has(name))
    .map((stage) => (files.has(stage.name) ? group(stage.name, files.get(stage.name)) : stage));
}

/**
 * @param {Stage} stage
 * @returns {Promise<Counts & {ok: boolean, text: string, note: string}>}
 */
async function runStage({ commands, count, note }) {
  const env = childEnv({ NO_COLOR: "1", CARGO_TERM_COLOR: "never" });
  delete env.FORCE_COLOR; // it would win
  let text = "";
  let ok = true;
  for (const [file, ...args] of commands) {
    const done = await run(file, args, { env, timeoutMs: STAGE_MS });
    text += done.text;
    ok &&= done.ok;
  }
  const counts = count?.(text) ?? { passed: 0, failed: 0, skipped: [] };
  // Neither a check that fails nor a test that does not compile is a test that failed; it counts.
  if (!ok && counts.failed === 0) counts.failed = 1;
  const said = [
    ...(count ? [`${counts.passed} passed`] : []),
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.skipped.length > 0 ? [`${counts.skipped.length} skipped`] : []),
    ...(note?.exec(text) ?? []),
  ];
  return { ...counts, ok: ok && counts.failed === 0, text, note: said.join(", ") };
}

await script(import.meta.url, async () => {
  const { positionals } = options({}, { usage: USAGE, positionals: true });
  const noSkip = process.env.HOLDFAST_NO_SKIP === "1";
  await setUp();
  const plan = chosen(positionals);
  for (const [stage, install] of /** @type {const} */ ([
    ["clients", installPython],
    ["schemas", installSchemaSuite],
  ])) {
    if (!plan.some(({ name }) => name === stage)) continue;
    try {
      await install();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      console.log(error.message); // the tests that need it say that they were skipped
    }
  }

  const began = Date.now();
  /** @type {Set<string>} */
  const failed = new Set();
  const total = { passed: 0, failed: 0 };
  /** @type {string[]} */
  const skipped = [];
  const width = Math.max(...plan.map(({ name }) => name.length)) + 2;
  for (const stage of plan) {
    process.stdout.write(stage.name.padEnd(width));
    const lacks =
      stage.after && failed.has(stage.after)
        ? `the stage ${stage.after} failed`
        : await stage.lacks?.();
    if (lacks !== undefined) {
      skipped.push(`all of ${stage.name}: ${lacks}`);
      console.log(`skipped     ${lacks}`);
      continue;
    }
    const stageBegan = Date.now();
    const result = await runStage(stage);
    const time = `${((Date.now() - stageBegan) / 1000).toFixed(1)} s`.padStart(8);
    console.log(`${result.ok ? "ok    " : "FAILED"}${time}  ${result.note}`);
    if (!result.ok) {
      failed.add(stage.name);
      console.log(result.text.replaceAll(new RegExp(`^${COUNTED}.*\\n`, "gm"), ""));
    }
    total.passed += result.passed;
    total.failed += result.failed;
    skipped.push(...result.skipped.map((line) => `${stage.name}: ${line}`));
  }

  console.log("");
  for (const line of skipped) console.log(`skipped  ${line}`);
  if (failed.size > 0) console.log(`failed stages: ${[...failed].join(", ")}`);
  if (noSkip && skipped.length > 0) console.log("HOLDFAST_NO_SKIP=1: a skipped test is a failure.");
  const minutes = ((Date.now() - began) / MINUTE_MS).toFixed(1);
  console.log(
    `${total.passed} passed, ${total.failed} failed, ${skipped.length} skipped in ${minutes} min`,
  );
  if (failed.size > 0 || (noSkip && skipped.length > 0)) process.exitCode = 1;
});
