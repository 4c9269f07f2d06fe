// The main module of a sub-worker: runs one program for one invocation and answers how it ended.
//
// The order matters. The parts take what they need from the realm when this module is loaded; the first
// invocation replaces the globals; then the program is imported, with `import()`, so that `eval` is off and its
// module-level code runs in a realm that is ours.
//
// All state belongs to one `evaluate`. The program's factory is called for each invocation with that
// invocation's own guard and runtime, so one isolate may serve several at once.

import { WorkerEntrypoint } from "cloudflare:workers";
import { evaluate } from "./evaluate.js";

/** The program's module; the host puts it beside this one. */
const PROGRAM = "program.js";
const load = () => import(PROGRAM);

export default class Sandbox extends WorkerEntrypoint {
  /**
   * @param {string} invocation
   * @param {(message: string) => Promise<string>} host
   * @returns {Promise<string>}
   */
  evaluate(invocation, host) {
    return evaluate(invocation, host, load);
  }
}
