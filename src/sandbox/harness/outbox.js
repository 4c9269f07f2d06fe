// What goes to the host: messages, each carrying every event and log line that came before it.
//
// All text is built piece by piece: `JSON.stringify` of our own arrays would ask the program's `toJSON`.

import { parse } from "./intrinsics.js";
import { isTagged, quote } from "./codec.js";

/**
 * @typedef {object} Reply An answer of the host.
 * @property {any} parsed
 * @property {boolean} tagged its values hold tags
 */

/**
 * Reads an answer.
 *
 * @param {string} json
 * @returns {Reply}
 */
export const readReply = (json) => ({ parsed: parse(json), tagged: isTagged(json) });

/**
 * @param {(message: string) => Promise<string>} host lent for the call
 * @param {ReturnType<typeof import("./logs.js").createLogs>} logs
 * @param {number} recorded events that the host has from earlier attempts
 */
export function createOutbox(host, logs, recorded) {
  let base = recorded;
  let events = "";
  let count = 0;

  /** The fields that every message ends with. @param {string} lines */
  function tail(lines) {
    let out = `,"base":${base}`;
    if (count > 0) out += `,"events":[${events}]`;
    if (lines !== "") out += `,"logs":[${lines}]`;
    base += count;
    events = "";
    count = 0;
    return out;
  }

  return {
    /** @param {"s" | "t" | "n" | "c"} kind @param {number} id @param {number} at */
    event(kind, id, at) {
      const json = `["${kind}",${id},${at}]`;
      events = count++ === 0 ? json : `${events},${json}`;
    },

    /**
     * Sends `{"t":…,` … `}`; the host's answer, still text. Rejects where the host does: a message that failed
     * is not an answer.
     *
     * @param {string} head the message's own fields, without braces
     * @param {string} [value] a last field, after what came before
     * @returns {Promise<string>}
     */
    send: (head, value = "") => host(`{${head}${tail(logs.take())}${value}}`),

    /** Something that no message has carried yet. */
    waiting: () => count > 0 || logs.waiting(),

    /** The last words: the same fields, with all lines. @param {string} head */
    end: (head) => `{${head}${tail(logs.takeAll())}}`,
  };
}

/** A field of text, or nothing. @param {string} name @param {string | undefined | null} value */
export const field = (name, value) =>
  value === undefined || value === null ? "" : `,"${name}":${quote(value)}`;
