// Whether a run ended as its case says. Pure: an expectation and an end in, complaints out.
import { isDeepStrictEqual } from "node:util";
import { expanded } from "../support/tagged.js";

/**
 * How a run ended, as a sandbox tells it.
 *
 * @typedef {object} Ended
 * @property {"completed" | "failed" | "cancelled"} outcome
 * @property {unknown} [value] in plain form
 * @property {string} [kind]
 * @property {string} [message]
 * @property {{level: string, text: string}[]} logs
 */

/** The kinds of the contract (tests/cases/sandbox/README.md). */
export const KINDS = [
  ...["syntax_error", "runtime_error", "timed_out", "deadlocked", "serialization_error"],
  ...["tool_error", "tool_not_found", "limit_exceeded", "capacity_exceeded", "cancelled"],
];

const MAX_MESSAGE_BYTES = 8_192;
const MAX_LOG_BYTES = 65_536;
const MAX_LINE_BYTES = 8_192;

/** Places in our own code: nobody outside has a use for them. */
const OURS =
  /\b(?:harness|attempt|evaluate|dispatch|codec|errors|globals|guard|logs|outbox|runtime|entry|index)\.js:\d+|index_bg\.wasm|wasm-function\[|\bsrc\/[\w/]+\.rs\b/;

/**
 * What is wrong with how a run ended; nothing, when it satisfies `expect` and the rules that hold
 * for every run.
 *
 * @param {import("./case.mjs").Expect} expect
 * @param {Ended} ended
 * @returns {string[]}
 */
export function judge(expect, ended) {
  const outcome = ended.outcome === "cancelled" ? "failed" : ended.outcome;
  const kind = ended.outcome === "cancelled" ? (ended.kind ?? "cancelled") : ended.kind;
  const complaints = [...rules(ended)];
  if (outcome !== expect.outcome) {
    complaints.push(`expected ${expect.outcome}${expect.kind ? ` (${expect.kind})` : ""}`);
  } else if (expect.kind !== undefined && kind !== expect.kind) {
    complaints.push(`expected the kind ${expect.kind}`);
  }
  if (Object.hasOwn(expect, "value")) {
    const value = expanded(expect.value);
    if (!isDeepStrictEqual(ended.value, value)) {
      complaints.push(`expected the value ${short(value)}`);
    }
  }
  for (const part of expect.messageIncludes ?? []) {
    if (!ended.message?.includes(part)) complaints.push(`expected ${short(part)} in the message`);
  }
  const missing = firstMissing(expect.logs ?? [], ended.logs);
  if (missing !== undefined) complaints.push(`expected the line ${short(missing)} in the logs`);
  if (complaints.length > 0) complaints.push(`came: ${described(ended)}`);
  return complaints;
}

/**
 * What holds for every run.
 *
 * @param {Ended} ended
 * @returns {string[]}
 */
function rules({ outcome, kind, message, logs }) {
  const complaints = [];
  if (outcome !== "completed") {
    if (!KINDS.includes(String(kind))) complaints.push(`${kind} is no kind of the contract`);
    if (typeof message !== "string" || message.trim() === "") {
      complaints.push("the message is empty");
    }
    const bytes = Buffer.byteLength(message ?? "");
    if (bytes > MAX_MESSAGE_BYTES) complaints.push(`the message has ${bytes} bytes`);
    const leak = OURS.exec(message ?? "");
    if (leak) complaints.push(`the message names a place of ours: ${leak[0]}`);
  }
  if (!Array.isArray(logs)) return [...complaints, "the logs are no list"];
  let total = 0;
  for (const { text } of logs) {
    const bytes = Buffer.byteLength(text);
    total += bytes;
    if (bytes > MAX_LINE_BYTES) complaints.push(`a line of the logs has ${bytes} bytes`);
    const leak = OURS.exec(text);
    if (leak) complaints.push(`the logs name a place of ours: ${leak[0]}`);
  }
  if (total > MAX_LOG_BYTES) complaints.push(`the logs have ${total} bytes`);
  return complaints;
}

/**
 * How often tools were called against how often they should have been.
 *
 * @param {Record<string, number>} expected
 * @param {Record<string, number>} counted
 * @returns {string[]}
 */
export function judgeCalls(expected, counted) {
  return Object.entries(expected)
    .filter(([tool, times]) => (counted[tool] ?? 0) !== times)
    .map(([tool, times]) => `expected ${times} calls of ${tool}, came: ${counted[tool] ?? 0}`);
}

/**
 * @param {import("./case.mjs").ExpectedLine[]} expected
 * @param {{level: string, text: string}[]} logs
 */
function firstMissing(expected, logs) {
  let from = 0;
  for (const line of expected) {
    const at = logs.findIndex(
      ({ level, text }, index) =>
        index >= from &&
        level === line.level &&
        (line.text === undefined || text === line.text) &&
        (line.textIncludes ?? []).every((part) => text.includes(part)),
    );
    if (at < 0) return line;
    from = at + 1;
  }
  return undefined;
}

/** @param {Ended} ended */
function described({ outcome, kind, message, value, logs }) {
  const what = outcome === "completed" ? short(value) : `(${kind}) ${short(message)}`;
  const lines = logs.slice(0, 5).map(({ level, text }) => `${level}: ${text}`);
  return `${outcome} ${what}${lines.length > 0 ? `, logs ${short(lines)}` : ""}`;
}

/** @param {unknown} value */
function short(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text;
}
