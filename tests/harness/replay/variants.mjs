// The harness with one rule switched off: its files with one piece of text replaced, in a folder of their own.
// A piece that is not there exactly once is an error, so a rule cannot get lost behind the tests.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const HARNESS = new URL("../../../src/sandbox/harness/", import.meta.url);

/* eslint no-template-curly-in-string: off -- the pieces are source text */

/** @typedef {[file: string, find: string, replace: string][]} Edits */

/**
 * Rules of docs/sandbox.md and what breaks each.
 *
 * @type {Record<string, Edits>}
 */
export const WITHOUT = {
  "a turn is over when a macrotask of ours ran": [
    [
      "replay.js",
      "const boundary = () => new Promise((resolve) => native.turn(() => resolve(undefined)));",
      "const boundary = async () => { for (let i = 0; i < 3; i++) await null; };",
    ],
  ],
  "one event a turn": [
    [
      "attempt.js",
      "    if (this.turnOpen) {\n      this.closeTurn();\n      return;\n    }\n    if (this.outcome !== null)",
      "    if (this.outcome !== null)",
    ],
    [
      "attempt.js",
      "      next.go();\n    }\n  }",
      "      next.go();\n      this.pump();\n    }\n  }",
    ],
  ],
  "a recorded answer is given at its event": [
    [
      "attempt.js",
      "      // A step's result that is recorded",
      '      if (own(known, "reply") !== undefined) this.settle(call, { parsed: known.reply, tagged: false });\n      // A step\'s result that is recorded',
    ],
    [
      "replay.js",
      "if (call === undefined || parsed === undefined) return false;",
      "if (call === undefined) return true;",
    ],
  ],
  "timers are events": [
    [
      "attempt.js",
      "    const id = this.timers.add(run, ms, repeat, args);",
      "    const id = this.timers.add(run, Infinity, repeat, args);\n    this.native.setTimeout(() => this.ended || this.timers.fire(id), +ms);",
    ],
  ],
  "one timer a turn": [
    [
      "attempt.js",
      "      this.timers.fire(next);\n",
      '      this.timers.fire(next);\n      for (let t = this.timers.next(); t !== null && t.due <= now; t = this.timers.next()) { this.write("t", t.id); this.timers.fire(t.id); }\n',
    ],
  ],
  "every message carries the events before it": [
    ["outbox.js", "    if (count > 0) out +=", '    if (lines === "\\0") out +='],
    ["outbox.js", '    base += count;\n    events = "";\n    count = 0;\n', ""],
    [
      "outbox.js",
      "end: (head) => `{${head}${tail(logs.takeAll())}}`",
      'end: (head) => `{${head},"base":${base},"events":[${events}],"logs":[${logs.takeAll()}]}`',
    ],
  ],
  "a line is known by its number": [
    ["logs.js", "if (n >= stored) unsent +=", "if (!globalThis.REPLAYING()) unsent +="],
  ],
  "the clock is recorded": [["clock.js", "date: () => time + offset,", "date: () => native(),"]],
  "randomness is seeded": [
    [
      "random.js",
      "  function word() {",
      "  function word() {\n    return (Math.random() * 2 ** 32) >>> 0;\n  }\n  function unused() {",
    ],
  ],
  "operations of the platform are events": [
    [
      "attempt.js",
      "    if (this.ended) return;\n    this.operations.set(id, settle);",
      "    if (this.ended) return;\n    this.operations.delete(id);\n    settle();\n    return;\n    this.operations.set(id, settle);",
    ],
  ],
  "a timer callback of ours does not close a turn": [
    [
      "attempt.js",
      "      this.wake = null;\n      this.pump();",
      "      this.wake = null;\n      this.turnOpen = false;\n      this.pump();",
    ],
    [
      "attempt.js",
      "        this.sweep = null;\n        this.pump();",
      "        this.sweep = null;\n        this.turnOpen = false;\n        this.pump();",
    ],
  ],
  "an ended program is given no reply that closed its turn": [
    [
      "attempt.js",
      "    if (this.outcome !== null) {\n      this.stop(this.outcome()); // The turn",
      "    if (this.outcome !== null && this.arrivals === null) {\n      this.stop(this.outcome()); // The turn",
    ],
  ],
  "a step's recorded result is asked for again": [
    [
      "attempt.js",
      "      } else if (n < this.recordedCalls.length) {",
      "      } else if (n < this.recordedCalls.length && !call.step) {",
    ],
  ],
};

/** The harness that meets given events, to compare a replayed run with: the test chooses what comes next. */
export const FORCED = /** @type {Edits} */ ([
  [
    "attempt.js",
    "    const now = this.clock.passed();\n    const timer = this.timers.next();\n",
    "    return globalThis.FORCE(this);\n    const now = this.clock.passed();\n    const timer = this.timers.next();\n",
  ],
]);

let count = 0;

/**
 * The harness with `edits` made.
 *
 * @param {Edits} edits
 * @returns {Promise<any>} the module `evaluate.js`
 */
export async function variant(edits) {
  if (edits.length === 0) return import(new URL("evaluate.js", HARNESS).href);
  const folder = mkdtempSync(join(tmpdir(), `holdfast-harness-${count++}-`));
  try {
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    for (const name of readdirSync(HARNESS).filter(
      (file) => file.endsWith(".js") && file !== "harness.js",
    )) {
      let text = readFileSync(new URL(name, HARNESS), "utf8");
      for (const [file, find, replace] of edits) {
        if (file !== name) continue;
        if (text.split(find).length !== 2) throw new Error(`${file} does not hold once: ${find}`);
        text = text.replace(find, () => replace);
      }
      writeFileSync(join(folder, name), text);
    }
    return await import(pathToFileURL(join(folder, "evaluate.js")).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
