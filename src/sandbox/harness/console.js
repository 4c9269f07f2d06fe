// The `console` of a program: every method, one line a call.

import { cut, fileOf, placeIn, stackOf } from "./errors.js";
import { formatLine, show } from "./format.js";
import { SafeMap, SafeSet, isArray, keys, max, text } from "./intrinsics.js";

/**
 * @param {(level: string, line: string) => void} log
 * @param {() => number} clock program time in ms
 * @param {number} room bytes of a line
 */
export function createConsole(log, clock, room) {
  let indent = "";
  /** @type {any} */
  const counts = new SafeMap();
  /** @type {any} */
  const timers = new SafeMap();

  /** @param {string} level @param {ArrayLike<any>} args */
  function line(level, args) {
    log(level, indent + formatLine(args, room));
  }

  /** @param {any} label */
  function labelOf(label) {
    return label === undefined ? "default" : show(label, 256);
  }

  /** @param {any} label @param {ArrayLike<any>} more @param {boolean} end */
  function lap(label, more, end) {
    const name = labelOf(label);
    if (!timers.has(name)) {
      log("warn", `${indent}Timer '${name}' does not exist`);
      return;
    }
    const rest = more.length > 1 ? ` ${formatLine(tailOf(more), room)}` : "";
    log("log", `${indent}${name}: ${clock() - timers.get(name)}ms${rest}`);
    if (end) timers.delete(name);
  }

  /** @param {ArrayLike<any>} args */
  function group(args) {
    if (args.length > 0) line("log", args);
    if (indent.length < MAX_INDENT) indent += "  ";
  }

  return {
    log(/** @type {any[]} */ ...args) {
      line("log", args);
    },
    info(/** @type {any[]} */ ...args) {
      line("info", args);
    },
    warn(/** @type {any[]} */ ...args) {
      line("warn", args);
    },
    error(/** @type {any[]} */ ...args) {
      line("error", args);
    },
    debug(/** @type {any[]} */ ...args) {
      line("debug", args);
    },
    dir(/** @type {any} */ value) {
      log("log", indent + show(value, room));
    },
    dirxml(/** @type {any[]} */ ...args) {
      line("log", args);
    },
    table(/** @type {any} */ rows) {
      log("log", indent + (tableText(rows, room) ?? show(rows, room)));
    },
    group(/** @type {any[]} */ ...args) {
      group(args);
    },
    groupCollapsed(/** @type {any[]} */ ...args) {
      group(args);
    },
    groupEnd() {
      indent = text.slice(indent, 0, max(0, indent.length - 2));
    },
    assert(/** @type {any[]} */ ...args) {
      if (args[0]) return;
      const rest = args.length > 1 ? `: ${formatLine(tailOf(args), room)}` : "";
      log("error", `${indent}Assertion failed${rest}`);
    },
    count(/** @type {any} */ label) {
      const name = labelOf(label);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      log("log", `${indent}${name}: ${count}`);
    },
    countReset(/** @type {any} */ label) {
      counts.delete(labelOf(label));
    },
    time(/** @type {any} */ label) {
      const name = labelOf(label);
      if (timers.has(name)) log("warn", `${indent}Timer '${name}' already exists`);
      else timers.set(name, clock());
    },
    timeLog(/** @type {any[]} */ ...args) {
      lap(args[0], args, false);
    },
    timeEnd(/** @type {any} */ label) {
      lap(label, [], true);
    },
    trace(/** @type {any[]} */ ...args) {
      const said = formatLine(args, room);
      const place = placeIn(stackOf(new TraceError()));
      const file = place === null ? "" : fileOf(place.module);
      const where =
        place === null ? "" : `\n  at line ${place.line}${file === "" ? "" : ` of ${file}`}`;
      log("debug", `${indent}Trace${said === "" ? "" : `: ${said}`}${where}`);
    },
    clear() {},
    timeStamp() {},
    profile() {},
    profileEnd() {},
  };
}

const TraceError = Error;
const MAX_INDENT = 40;
const MAX_ROWS = 200;

/** Arguments from the second on. @param {ArrayLike<any>} args */
function tailOf(args) {
  /** @type {{ length: number, [index: number]: any }} */
  const out = { length: args.length - 1 };
  for (let i = 1; i < args.length; i++) out[i - 1] = args[i];
  return out;
}

/**
 * Rows as text with a column for each key, or undefined where there are no rows.
 *
 * @param {any} rows
 * @param {number} room
 * @returns {string | undefined}
 */
function tableText(rows, room) {
  if (typeof rows !== "object" || rows === null) return undefined;
  try {
    const names = keys(rows);
    /** @type {any} */
    const columns = new SafeSet();
    let simple = false;
    for (let i = 0; i < names.length && i < MAX_ROWS; i++) {
      const row = rows[names[i]];
      if (typeof row !== "object" || row === null) {
        simple = true;
      } else {
        const own = keys(row);
        for (let k = 0; k < own.length && columns.size < 32; k++) columns.add(own[k]);
      }
    }
    let out = isArray(rows) ? "(index)" : "(key)";
    columns.forEach((/** @type {string} */ column) => (out += ` | ${column}`));
    if (simple) out += " | Values";
    for (let i = 0; i < names.length && out.length < room; i++) {
      const row = rows[names[i]];
      const flat = typeof row !== "object" || row === null;
      out += `\n${names[i]}`;
      columns.forEach((/** @type {string} */ column) => {
        const value = flat ? undefined : row[column];
        out += ` | ${value === undefined ? "" : show(value, 256)}`;
      });
      if (simple) out += ` | ${flat ? show(row, 256) : ""}`;
    }
    return cut(out, room * 2, "…");
  } catch {
    return undefined;
  }
}
