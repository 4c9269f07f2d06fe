// The lines a program logged, numbered, within their limits.
//
// The first half of the limits goes out as it comes, with each message. Past that only the newest
// lines are kept, as many as the other half holds, and go out at the end after a line that says how
// many were dropped: the first lines say what began, the last ones what broke.
//
// A line is known by its number, never by "are we replaying": lines of the last recorded turn may or
// may not be stored.

import { cut } from "./errors.js";
import { SafeMap, floor, min, text, utf8Length } from "./intrinsics.js";
import { quote } from "./codec.js";

/** @typedef {{ logBytes: number, logLines: number, logLineBytes: number }} LogLimits */

/**
 * @param {LogLimits} limits
 * @param {number} stored lines that the host has
 */
export function createLogs(limits, stored) {
  const headBytes = floor(limits.logBytes / 2);
  const headLines = floor(limits.logLines / 2);
  const tailBytes = limits.logBytes - headBytes - NOTICE_BYTES;
  const tailLines = limits.logLines - headLines - 1;
  const lineBytes = min(limits.logLineBytes, headBytes);
  let number = 0;
  let bytes = 0;
  let full = false;
  let unsent = "";
  /** @type {any} The newest lines past the head, by number. */
  const tail = new SafeMap();
  let first = -1;
  let tailHeld = 0;
  let dropped = 0;
  let droppedFrom = 0;
  let droppedAt = 0;

  /** @param {number} n @param {string} json */
  const put = (n, json) => {
    if (n >= stored) unsent += unsent === "" ? json : `,${json}`;
  };

  /** @param {string} level @param {string} line @param {number} at */
  function add(level, line, at) {
    const whole = cut(
      text.toWellFormed(line),
      lineBytes,
      ` … [truncated, ${line.length} characters]`,
    );
    const size = utf8Length(whole);
    const n = number++;
    const json = `[${n},"${level}",${quote(whole)},${at}]`;
    if (!full && bytes + size <= headBytes && n < headLines) {
      bytes += size;
      put(n, json);
      return;
    }
    full = true;
    if (first < 0) first = n;
    tail.set(n, { json, size, at });
    tailHeld += size;
    while (tailHeld > tailBytes || tail.size > tailLines) {
      const old = tail.get(first);
      tail.delete(first);
      tailHeld -= old.size;
      if (dropped++ === 0) {
        droppedFrom = first;
        droppedAt = old.at;
      }
      first++;
    }
  }

  /** The lines that no message has carried yet, as JSON without the brackets. */
  function take() {
    const out = unsent;
    unsent = "";
    return out;
  }

  /** The same at the end: the notice and the newest lines too. */
  function takeAll() {
    if (full) putTail();
    return take();
  }

  function putTail() {
    if (dropped > 0) {
      put(
        droppedFrom,
        `[${droppedFrom},"warn","${dropped} lines were dropped here: the limit of a run's logs is ${limits.logBytes} bytes and ${limits.logLines} lines",${droppedAt}]`,
      );
    }
    tail.forEach((/** @type {any} */ line, /** @type {number} */ n) => put(n, line.json));
  }

  return { add, take, takeAll, waiting: () => unsent !== "" };
}

/** Room for the line that says how many were dropped. */
const NOTICE_BYTES = 160;
