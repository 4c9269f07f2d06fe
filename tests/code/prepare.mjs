// Prepares programs with the real `code::prepare`, and loads what comes out.
//
// `cargo run --example prepare` answers a JSON line for each line it reads; all programs of a test
// file go through one process.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
let built = false;

/** The ambient names of the sandbox, as far as these tests need them. */
export const AMBIENT = ["tools", "params", "console", "sleep", "step", "emit", "storage", "run"];

/**
 * @typedef {{ source?: string, package?: Record<string, string>, guard?: boolean, ambient?: string[], positions?: number[][], engine?: string }} Request
 * @typedef {{ path?: string, message: string, place: number[] | null, excerpt: string | null }} Refusal
 * @typedef {{ module: string, warnings: string[], positions: (number[] | null)[], engine: string | null, refusal?: Refusal, modules?: Record<string, string>, exports?: [string, boolean][] }} Answer
 */

/**
 * Prepares many programs at once.
 * @param {Request[]} requests
 * @returns {Answer[]}
 */
export function prepareAll(requests) {
  if (!built) {
    cargo(["build", "--quiet", "--example", "prepare"], "");
    built = true;
  }
  const lines = requests.map((request) => JSON.stringify({ ambient: AMBIENT, ...request }));
  const output = cargo(["run", "--quiet", "--example", "prepare"], lines.join("\n") + "\n");
  const answers = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  if (answers.length !== requests.length)
    throw new Error(`${answers.length} answers for ${requests.length}`);
  return answers;
}

/**
 * @param {string[]} args
 * @param {string} input
 */
function cargo(args, input) {
  const done = spawnSync("cargo", args, { cwd: root, input, maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`cargo ${args.join(" ")}: ${done.stderr}`);
  return String(done.stdout);
}

/**
 * Loads a prepared module and returns its factory.
 * @param {string} module
 * @returns {Promise<(guard: object, runtime: object) => () => Promise<unknown>>}
 */
export async function load(module) {
  return (await import("data:text/javascript," + encodeURIComponent(module))).default;
}

/** A guard that never ends anything. */
export const idleGuard = () => {
  const guard = {
    n: 0,
    t() {
      guard.n = 1023;
    },
    /** @param {number} units */
    c(units) {
      if ((guard.n -= units) < 0) guard.t();
      return true;
    },
  };
  return guard;
};
