// Running other programs: to their end, or as servers that are ended with all they started.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ROOT, searchPath } from "./places.mjs";

/** A mistake of the machine or of whoever typed the command: printed without a stack. */
export class Refusal extends Error {}

/**
 * What every child gets. Nothing of ours reports to anybody, so each switch for that is off:
 * wrangler's metrics, error reports, update check (part of its banner) and miniflare's download
 * of a sample `request.cf`.
 *
 * @param {NodeJS.ProcessEnv} [more]
 * @returns {NodeJS.ProcessEnv}
 */
export function childEnv(more = {}) {
  return {
    ...process.env,
    PATH: searchPath(),
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    DO_NOT_TRACK: "1",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_SEND_METRICS: "false",
    ...more,
  };
}

/**
 * Runs a program to its end.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv, show?: boolean, timeoutMs?: number}} [options]
 *   `show`: its output goes to the terminal and is not collected.
 * @returns {Promise<{ok: boolean, code: number | null, text: string, missing: boolean}>}
 *   `text` is stdout and stderr as they came. `missing`: there is no such program.
 */
export function run(file, args, { cwd = ROOT, env = childEnv(), show = false, timeoutMs } = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd,
      env,
      detached: true,
      stdio: show ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
    });
    /** @type {string[]} */
    const chunks = [];
    const untie = endWithUs(child);
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            chunks.push(`\n${file} was ended: it took longer than ${timeoutMs / 1000} s\n`);
            killGroup(child, "SIGKILL");
          }, timeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (/** @type {string} */ text) => chunks.push(text));
    }
    /** @type {(ok: boolean, code: number | null, missing: boolean) => void} */
    const settle = (ok, code, missing) => {
      clearTimeout(timer);
      untie();
      resolve({ ok, code, text: chunks.join(""), missing });
    };
    child.on("error", (error) => {
      chunks.push(String(error));
      settle(false, null, "code" in error && error.code === "ENOENT");
    });
    child.on("close", (code) => settle(code === 0, code, false));
  });
}

/**
 * Starts a server in a process group of its own, so that it can be ended with everything it
 * started. It is ended when this process ends, too, whatever the way (leash.mjs).
 *
 * @param {string} file
 * @param {string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv}} [options]
 */
export function serve(file, args, { cwd = ROOT, env = childEnv() } = {}) {
  const leash = fileURLToPath(new URL("leash.mjs", import.meta.url));
  const child = spawn(process.execPath, [leash, file, ...args], { cwd, env, detached: true });
  child.stdin.on("error", () => {}); // it has gone before us
  const untie = endWithUs(child);
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", (code) => resolve(code));
  });
  return {
    child,
    ended,
    /**
     * Asks it to end, and ends it and all it started when it has not after `graceMs`.
     *
     * @param {number} [graceMs]
     */
    async stop(graceMs = 3_000) {
      killGroup(child, "SIGTERM");
      await Promise.race([ended, pause(graceMs)]);
      // The leader may be gone while something it started is not; the group still has its id.
      killGroup(child, "SIGKILL");
      await Promise.race([ended, pause(graceMs)]);
      untie();
    },
    /** Ends it and all it started at once, as a power cut would. */
    async kill() {
      killGroup(child, "SIGKILL");
      await Promise.race([ended, pause(3_000)]);
      untie();
    },
  };
}

/**
 * Sends a signal to a child and to everything in its process group.
 *
 * @param {import("node:child_process").ChildProcess} child started with `detached`
 * @param {NodeJS.Signals} signal
 */
function killGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @returns {() => void} lets go of it
 */
function endWithUs(child) {
  const end = () => killGroup(child, "SIGKILL");
  process.on("exit", end);
  return () => process.off("exit", end);
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/**
 * Reads the options that a script was called with.
 *
 * @template {import("node:util").ParseArgsOptionsConfig} T
 * @param {T} known
 * @param {{usage?: string, positionals?: boolean}} [more] `positionals`: it takes some
 */
export function options(known, { usage = "", positionals = false } = {}) {
  try {
    return parseArgs({ options: known, allowPositionals: positionals });
  } catch (error) {
    throw new Refusal([error instanceof Error ? error.message : error, usage].join("\n").trim());
  }
}

/**
 * Runs a script's main function when it is this file that was called, not one that imports it. A
 * `Refusal` is printed as it is, anything else with its stack.
 *
 * @param {string} url the script's `import.meta.url`
 * @param {() => Promise<void>} main
 */
export async function script(url, main) {
  const called = process.argv[1];
  if (called === undefined || fs.realpathSync(called) !== fileURLToPath(url)) return;
  // Without handlers these would end us without an "exit", and leave what we started behind.
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));
  }
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Refusal ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
