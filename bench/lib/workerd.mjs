// workerd without anything around it: modules in, an address out.
//
// Its clock for a measurement is the processor time of its main thread where the system tells it
// (Linux): on a machine that does other things besides, wall-clock time measures those.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import workerd from "workerd";

const START_MS = 30_000;

/**
 * @typedef {object} Raw
 * @property {string} url
 * @property {number} pid
 * @property {() => number} spentMs processor time of its main thread so far; wall-clock time where
 *   the system does not tell
 * @property {() => Promise<void>} stop
 */

/**
 * @param {Record<string, string | Uint8Array>} modules the first is the main one; bytes are Wasm
 * @param {{ bindings?: string, compatibilityDate: string, flags?: string[] }} options `bindings`:
 *   Cap'n Proto text
 * @returns {Promise<Raw>}
 */
export async function serveRaw(modules, { bindings = "", compatibilityDate, flags = [] }) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
  const listed = Object.entries(modules).map(([name, content], i) => {
    const isWasm = typeof content !== "string";
    const file = `module-${i}`;
    fs.writeFileSync(path.join(dir, file), content);
    return `(name = ${JSON.stringify(name)}, ${isWasm ? "wasm" : "esModule"} = embed "${file}")`;
  });
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .main) ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ],
);
const main :Workerd.Worker = (
  modules = [ ${listed.join(", ")} ],
  compatibilityDate = "${compatibilityDate}",
  compatibilityFlags = [ ${flags.map((flag) => JSON.stringify(flag)).join(", ")} ],
  bindings = [ ${bindings} ],
);
`;
  fs.writeFileSync(path.join(dir, "config.capnp"), config);
  const server = spawn(
    workerd.default,
    ["serve", "--experimental", "--control-fd=3", path.join(dir, "config.capnp")],
    { stdio: ["ignore", "ignore", "inherit", "pipe"] },
  );
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      const exited = once(server, "exit");
      server.kill("SIGKILL");
      await exited;
    }
    fs.rmSync(dir, { recursive: true, force: true });
  };
  try {
    const port = await listening(server);
    const pid = server.pid ?? 0;
    return { url: `http://127.0.0.1:${port}`, pid, spentMs: () => spentMs(pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The port that it chose, as it says on the control descriptor.
 *
 * @param {import("node:child_process").ChildProcess} server
 * @returns {Promise<number>}
 */
async function listening(server) {
  const control = /** @type {import("node:stream").Readable} */ (server.stdio[3]);
  let said = "";
  const timer = setTimeout(() => server.kill("SIGKILL"), START_MS);
  try {
    for await (const chunk of control) {
      said += chunk;
      for (const line of said.split("\n").slice(0, -1)) {
        const event = JSON.parse(line);
        if (event.event === "listen") return event.port;
      }
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error("workerd did not start");
}

/**
 * Processor time of the main thread of a process so far, in milliseconds: where the system does not
 * tell it, the time on the wall.
 *
 * @param {number | string} pid
 * @returns {number}
 */
export function spentMs(pid) {
  const file = `/proc/${pid}/schedstat`;
  if (!fs.existsSync(file)) return performance.now();
  return Number(fs.readFileSync(file, "utf8").split(" ")[0]) / 1e6;
}

/**
 * Processes that this one started, oldest first; none where the system does not tell.
 *
 * @returns {string[]}
 */
export function children() {
  const tasks = `/proc/${process.pid}/task`;
  if (!fs.existsSync(tasks)) return [];
  const listed = fs.readdirSync(tasks).flatMap((task) => {
    const file = path.join(tasks, task, "children");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split(" ") : [];
  });
  return listed.filter((pid) => pid !== "").sort((a, b) => Number(a) - Number(b));
}
