// `npm start`, for tests: the script itself, which answers by the time it is handed over.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { childEnv } from "../../scripts/lib/command.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";
import { until } from "../worker/harness.mjs";

const START_MS = 60_000;

/**
 * Starts it on a free port and on a state of its own; what is left of it is ended with the test.
 *
 * @param {import("node:test").TestContext} t
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function start(t, env = {}) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const child = spawn(
    process.execPath,
    ["scripts/start.mjs", "--port", "0", "--state", path.join(state, "d1")],
    { cwd: ROOT, env: childEnv(env), stdio: ["ignore", "pipe", "pipe"] },
  );
  t.after(() => child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  }
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.on("exit", resolve));
  void ended.then(() => (text += "\n[ended]"));
  await until(
    "npm start",
    async () => {
      assert.doesNotMatch(text, /\[ended\]/);
      return /^Configuration of an MCP client$/m.test(text);
    },
    START_MS,
  );
  const [, url = ""] = /^Holdfast answers on (http:\/\/127\.0\.0\.1:\d+) /m.exec(text) ?? [];
  return { child, ended, url, said: () => text };
}
