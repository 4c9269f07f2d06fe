// Running wrangler: what uploads workers.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pauseMs } from "./http.mjs";
import { Problem, say } from "./log.mjs";

const ATTEMPTS = 3;

/**
 * wrangler is 15 MB of JavaScript, and loading it is most of its time: with room for all of that
 * before the first collection of garbage it takes a tenth less of the processor.
 */
const NODE_FLAGS = ["--no-warnings", "--max-semi-space-size=64", "--min-semi-space-size=64"];

/** Codes of refusals that a second try does not change: the token, the upload, the SQL. */
const FINAL = /\[code: (9106|9109|10000|10021|10027)\]|SQLITE_ERROR/;

/** What wrangler says when the API, and not the worker, is what failed. */
const API_FAILED =
  /request to the Cloudflare API|malformed response|fetch failed|ECONNRESET|ETIMEDOUT/i;

/** The account is on the free plan. The API's words do not say so. */
const NO_LOADER = /type worker_loader is invalid/;

/**
 * @param {string} output
 * @returns {boolean}
 */
export function isWorthRetrying(output) {
  return API_FAILED.test(output) && !FINAL.test(output) && !NO_LOADER.test(output);
}

/**
 * What a failure means to whoever deploys.
 *
 * @param {string} output
 * @returns {string | undefined}
 */
export function explain(output) {
  if (NO_LOADER.test(output)) {
    return (
      "the account's plan has no Worker Loader, which Holdfast runs programs in. " +
      "It needs Workers Paid: change the plan in the dashboard under Workers & Pages, Plans, and deploy again."
    );
  }
  if (/\[code: (9106|9109|10000)\]/.test(output)) {
    return "CLOUDFLARE_API_TOKEN is refused. docs/operate.md lists the permissions that it needs.";
  }
  if (/\[code: 10027\]/.test(output)) return "the worker is larger than the account's plan allows.";
  return undefined;
}

/**
 * Runs wrangler with a configuration until it succeeds. Its output goes to stderr.
 *
 * @param {string[]} args
 * @param {{cwd: string, dir: string, accountId: string}} options `dir`: where its log goes.
 */
export async function wrangler(args, { cwd, dir, accountId }) {
  for (let attempt = 1; ; attempt += 1) {
    const { code, output } = await run(args, cwd, {
      ...process.env,
      CI: "true",
      CLOUDFLARE_ACCOUNT_ID: accountId,
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      WRANGLER_HIDE_BANNER: "true",
      WRANGLER_LOG_PATH: path.join(dir, "log"),
      WRANGLER_SEND_ERROR_REPORTS: "false",
      WRANGLER_SEND_METRICS: "false",
    });
    if (code === 0) return;
    const pause =
      attempt < ATTEMPTS && isWorthRetrying(output) ? pauseMs(attempt, null) : undefined;
    if (pause === undefined) {
      throw new Problem(
        `wrangler ${args[0]} failed: ${explain(output) ?? "see above for what it said."}`,
      );
    }
    say(`wrangler ${args[0]} failed at the API; trying again in ${Math.round(pause)} ms`);
    await delay(pause);
  }
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{code: number | null, output: string}>}
 */
function run(args, cwd, env) {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve("wrangler/package.json");
  // What its `bin` starts as a second process, started at once.
  const cli = require.resolve("wrangler");
  return new Promise((resolve, reject) => {
    const child = spawn(node(manifest), [...NODE_FLAGS, cli, ...args], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
        output += text;
        process.stderr.write(text);
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

/**
 * The Node that comes with the node modules: wrangler wants a newer one than the system may have.
 *
 * @param {string} manifest wrangler's package.json.
 */
function node(manifest) {
  const own = path.resolve(path.dirname(manifest), "..", ".bin", "node");
  return fs.existsSync(own) ? own : process.execPath;
}

/**
 * @param {string} root The project's.
 * @param {string} worker
 */
function privateDir(root, worker) {
  return path.join(root, ".holdfast", "deploy", worker);
}

/**
 * Removes what a killed run left, secrets among it, also where nothing is left to deploy.
 *
 * @param {string} root
 * @param {string[]} workers
 */
export function removePrivateDirs(root, workers) {
  for (const worker of workers) {
    fs.rmSync(privateDir(root, worker), { recursive: true, force: true });
  }
}

/**
 * A folder for one worker's generated configuration and secrets, private to the user, emptied
 * before and removed afterwards, whatever happens.
 *
 * @template T
 * @param {string} root The project's.
 * @param {string} worker
 * @param {(dir: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withPrivateDir(root, worker, work) {
  const dir = privateDir(root, worker);
  const remove = () => fs.rmSync(dir, { recursive: true, force: true });
  const interrupted = (/** @type {NodeJS.Signals} */ signal) => {
    remove();
    process.kill(process.pid, signal);
  };
  remove();
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    return await work(dir);
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    remove();
  }
}

/**
 * Writes JSON that only the user may read.
 *
 * @param {string} file
 * @param {unknown} value
 */
export function writePrivate(file, value) {
  fs.writeFileSync(file, JSON.stringify(value, null, 2), { mode: 0o600, flag: "wx" });
}
