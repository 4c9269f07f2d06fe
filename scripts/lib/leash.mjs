// Runs a program for as long as whoever started this lives.
//
//   node leash.mjs FILE ARGS…
//
// Meant to be the leader of a process group. Its stdin is a pipe from the starter: the pipe ends
// when the starter does, even by SIGKILL, and then the whole group is killed.
import { spawn } from "node:child_process";

const [file = "", ...args] = process.argv.slice(2);

// The signal reaches the program too, which ends as it likes; this process follows it.
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, () => {});
}
process.stdin.resume().on("close", () => process.kill(0, "SIGKILL"));

const child = spawn(file, args, { stdio: ["ignore", "inherit", "inherit"] });
child.on("error", (error) => {
  console.error(String(error));
  process.exit(127);
});
child.on("exit", (code) => process.exit(code ?? 1));
