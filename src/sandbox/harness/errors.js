// What a thrown value says, as text and as fields.
//
// The text is the one part of an error that survives every boundary, so it holds all that helps: name,
// message, code, causes, the parts of an AggregateError. It is never empty and never over a limit.
// Anything may have been thrown, and what was thrown may fight back: each read is guarded, nothing of
// it is trusted to be text, and the stack is read with the engine's own formatting only.

import { errorName } from "./codec.js";
import {
  Bytes,
  SafeSet,
  defineProperty,
  encodeInto,
  encoder,
  getOwnPropertyDescriptor,
  hasOwn,
  isArray,
  setOwn,
  text,
  uncurry,
  utf8Length,
} from "./intrinsics.js";
import { isError } from "./kinds.js";

/** UTF-8 bytes of a rendered error: it ends up in a row, a log line and a model's context. */
export const MAX_TEXT_BYTES = 8192;
/** Causes and parts that are followed. */
const MAX_LINKS = 16;

const PrimordialError = Error;
const symbolText = uncurry(Symbol.prototype.toString);

/**
 * A text cut to `limit` bytes of UTF-8 on a code point, with `tail` at the end when it was cut.
 *
 * @param {string} whole
 * @param {number} limit
 * @param {string} tail
 * @returns {string}
 */
export function cut(whole, limit, tail) {
  if (whole.length * 3 <= limit) return whole;
  if (whole.length <= limit && utf8Length(whole) <= limit) return whole;
  const room = new Bytes(limit > tail.length * 3 ? limit - utf8Length(tail) : 0);
  const { read: taken } = encodeInto(encoder, whole, room);
  return text.slice(whole, 0, taken) + tail;
}

/** @param {any} object @param {string} name @returns {any} undefined also where reading throws */
function read(object, name) {
  try {
    return object[name];
  } catch {
    return undefined;
  }
}

/** A `code` as text, if it is one. @param {any} error @returns {string | undefined} */
export function codeOf(error) {
  const code = read(error, "code");
  if (typeof code === "string" && code !== "") return cut(code, 256, "…");
  return typeof code === "number" ? `${code}` : undefined;
}

/**
 * @typedef {object} Described An error as fields.
 * @property {string} name
 * @property {string} message
 * @property {string} [code]
 * @property {Described[]} causes from the outermost inwards
 * @property {Described[]} [errors] the parts of an AggregateError
 */

/**
 * Renders thrown values.
 *
 * @param {(value: any) => string} show how a value that is no error is written
 * @param {(error: any) => string | undefined} toolOf which tool's error it is
 */
export function createRenderer(show, toolOf) {
  /** One error without its causes. @param {any} thrown @returns {string} */
  function head(thrown) {
    if (!isErrorLike(thrown)) return bare(thrown);
    const tool = toolOf(thrown);
    const name = errorName(thrown);
    const code = codeOf(thrown);
    let out = messageOf(thrown);
    if (tool !== undefined && !names(out, tool)) out = `${tool}: ${out}`;
    if (name !== "Error") out = out === "" ? name : `${name}: ${out}`;
    if (out === "") out = "an Error without a message";
    if (code !== undefined && !text.includes(out, `[${code}]`)) out += ` [${code}]`;
    return out;
  }

  /** @param {any} thrown @returns {string} */
  function bare(thrown) {
    if (typeof thrown === "string") return thrown === "" ? "an empty text was thrown" : thrown;
    if (thrown === null || thrown === undefined) return `${thrown} was thrown`;
    if (typeof thrown === "symbol") return `${symbolText(thrown)} was thrown`;
    let shown = "";
    try {
      shown = show(thrown);
    } catch {
      // It fights back.
    }
    return shown === "" ? "something that cannot be shown was thrown" : shown;
  }

  /** @param {any} thrown @param {any} seen @returns {string} */
  function full(thrown, seen) {
    let out = head(thrown);
    for (let at = thrown; isErrorLike(at) && seen.size < MAX_LINKS;) {
      seen.add(at);
      const parts = read(at, "errors");
      if (isArray(parts)) {
        for (let i = 0; i < parts.length && seen.size < MAX_LINKS; i++) {
          const part = read(parts, `${i}`);
          if (!seen.has(part)) out += `\n  - ${full(part, seen)}`;
        }
      }
      const cause = read(at, "cause");
      if (cause === undefined || cause === null || seen.has(cause)) break;
      out += `\nCaused by: ${head(cause)}`;
      at = cause;
    }
    return out;
  }

  /** @param {any} thrown @param {any} seen @returns {Described} */
  function fields(thrown, seen) {
    seen.add(thrown);
    const error = isErrorLike(thrown);
    const message = error ? messageOf(thrown) : bare(thrown);
    return /** @type {any} */ ({
      __proto__: null,
      name: error ? errorName(thrown) : typeof thrown,
      message: cut(message, MAX_TEXT_BYTES, "…"),
      code: codeOf(thrown),
      causes: [],
      errors: undefined,
    });
  }

  /** @param {any} thrown @param {any} seen @returns {Described} */
  function described(thrown, seen) {
    const out = fields(thrown, seen);
    let count = 0;
    for (let at = read(thrown, "cause"); at !== undefined && at !== null && count < MAX_LINKS;) {
      if (seen.has(at)) break;
      setAt(out.causes, count++, fields(at, seen));
      at = read(at, "cause");
    }
    const parts = read(thrown, "errors");
    if (isErrorLike(thrown) && isArray(parts)) {
      out.errors = [];
      for (let i = 0; i < parts.length && i < MAX_LINKS; i++) {
        setAt(out.errors, i, fields(read(parts, `${i}`), seen));
      }
    }
    return out;
  }

  return {
    /**
     * Never empty, at most {@link MAX_TEXT_BYTES}.
     *
     * @param {any} thrown
     * @returns {string}
     */
    render(thrown) {
      let out = "";
      try {
        out = full(thrown, new SafeSet());
      } catch {
        // Too deep a stack, or something nobody thought of: the run has failed all the same.
      }
      if (out === "") out = "an error that cannot be shown";
      return cut(text.toWellFormed(out), MAX_TEXT_BYTES, "… (cut)");
    },
    /** @param {any} thrown @returns {Described} */
    describe(thrown) {
      try {
        return described(thrown, new SafeSet());
      } catch {
        return { name: "Error", message: "an error that cannot be shown", causes: [] };
      }
    },
  };
}

/** Whether a message names a tool, as a word of its own. @param {string} message @param {string} tool */
function names(message, tool) {
  const at = text.indexOf(message, tool);
  return at >= 0 && !isWord(message, at - 1) && !isWord(message, at + tool.length);
}

/** Letters, digits, `_`, `-` and what is beyond ASCII. @param {string} message @param {number} at */
function isWord(message, at) {
  const code = text.charCodeAt(message, at);
  const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code > 127;
  return letter || (code >= 48 && code <= 57) || code === 95 || code === 45;
}

/** Errors, and objects that read like one. @param {any} thrown @returns {boolean} */
function isErrorLike(thrown) {
  if (isError(thrown)) return true;
  return (
    typeof thrown === "object" &&
    thrown !== null &&
    typeof read(thrown, "message") === "string" &&
    typeof read(thrown, "stack") === "string"
  );
}

/** @param {any} error @returns {string} */
function messageOf(error) {
  const message = read(error, "message");
  if (typeof message === "string") return message;
  return typeof message === "number" ? `${message}` : "";
}

/** @param {any} list @param {number} index @param {any} value */
const setAt = (list, index, value) => setOwn(list, `${index}`, value);

/**
 * Reads `error.stack` as the engine writes it. `Error.prepareStackTrace` is the program's to set, and
 * reading a stack calls it; a program can make it end the answer in a loop.
 *
 * @param {any} error
 * @returns {string}
 */
export function stackOf(error) {
  const before = getOwnPropertyDescriptor(PrimordialError, "prepareStackTrace");
  try {
    if (before !== undefined && !before.configurable) return "";
    if (before !== undefined) {
      setOwn(PrimordialError, "prepareStackTrace", undefined);
    }
    const own = hasOwn(error, "stack") ? error.stack : undefined;
    return typeof own === "string" ? own : "";
  } catch {
    return "";
  } finally {
    if (before !== undefined) {
      try {
        defineProperty(PrimordialError, "prepareStackTrace", before);
      } catch {
        // It could not be taken away either.
      }
    }
  }
}

/** How stacks name the program, and what every module of a package is named after. */
const PROGRAM = "program.js";
const PACKAGE = "package/";

/** @typedef {{ module: string, line: number, column: number }} Place */

/**
 * Where in the program, or in which module of the package, a stack begins.
 *
 * @param {string} stack
 * @returns {Place | null}
 */
export function placeIn(stack) {
  // The message comes first and may hold anything; the frames are the lines that begin with "at".
  for (
    let at = text.indexOf(stack, "\n    at ");
    at >= 0;
    at = text.indexOf(stack, "\n    at ", at + 1)
  ) {
    const end = text.indexOf(stack, "\n", at + 1);
    const place = placeOfFrame(text.slice(stack, at, end < 0 ? stack.length : end));
    if (place !== null) return place;
  }
  return null;
}

/**
 * A frame is `at name (module:line:column)` or `at module:line:column`, and names may hold anything: it
 * is read from its end.
 *
 * @param {string} frame
 * @returns {Place | null}
 */
function placeOfFrame(frame) {
  const called = frame[frame.length - 1] === ")";
  const column = digitsBefore(frame, called ? frame.length - 1 : frame.length);
  const line = column === null ? null : digitsBefore(frame, column.start - 1);
  if (column === null || line === null) return null;
  const where = text.slice(frame, 0, line.start - 1);
  const mark = called ? "(" : " ";
  let at = text.lastIndexOf(where, mark + PACKAGE);
  if (at < 0) {
    at = text.lastIndexOf(where, mark + PROGRAM);
    if (at < 0 || at + 1 + PROGRAM.length !== where.length) return null;
  }
  return { module: text.slice(where, at + 1), line: line.number, column: column.number };
}

/** The number that ends before `end`, after a colon. @param {string} from @param {number} end */
function digitsBefore(from, end) {
  let start = end;
  let number = 0;
  for (let scale = 1; start > 0; start--, scale *= 10) {
    const digit = text.charCodeAt(from, start - 1) - 48;
    if (!(digit >= 0 && digit <= 9)) break;
    number += digit * scale;
  }
  return start < end && from[start - 1] === ":" ? { number, start } : null;
}

/** @param {any} thrown */
export function placeOf(thrown) {
  return isError(thrown) ? placeIn(stackOf(thrown)) : null;
}

/**
 * The path in its package of what stacks call `module`; empty for a program.
 *
 * @param {string} module
 */
export function fileOf(module) {
  if (module === PROGRAM) return "";
  const path = text.slice(module, PACKAGE.length);
  const bare = text.slice(path, 0, path.length - 3);
  const typed = ends(bare, ".ts") || ends(bare, ".mts") || ends(bare, ".mjs");
  return typed ? bare : path;
}

/** @param {string} whole @param {string} end */
const ends = (whole, end) => text.slice(whole, whole.length - end.length) === end;
