// How `console` writes values: the plain form of the codec, except that it never refuses. Texts at the
// top are bare, errors are `Name: message`, and what is no data is described.

import { errorName } from "./codec.js";
import { encodeBase64 } from "./base64.js";
import { codeOf } from "./errors.js";
import {
  Bytes,
  SafeSet,
  detach,
  hasOwn,
  keys,
  min,
  own,
  stringify,
  text,
  toNumber,
  trunc,
  uncurry,
  view,
} from "./intrinsics.js";
import {
  ArrayPrototype,
  ObjectPrototype,
  isoText,
  kindOf,
  nameOfOurs,
  regexpFlags,
  regexpSource,
  unbox,
  windowOf,
} from "./kinds.js";

const MAX_DEPTH = 100;
const symbolText = uncurry(Symbol.prototype.toString);
const mapEach = uncurry(Map.prototype.forEach);
const setEach = uncurry(Set.prototype.forEach);
const { parseFloat, parseInt } = globalThis;

/**
 * Thrown inside when there is enough text: a line is cut anyway, and a value may be endless.
 */
const ENOUGH = {};

class Line {
  /** @param {number} room characters that are worth writing */
  constructor(room) {
    this.room = room;
    this.out = "";
    /** @type {any} */
    this.within = new SafeSet();
  }

  /** @param {string} piece */
  write(piece) {
    this.out += piece;
    if (this.out.length > this.room) throw ENOUGH;
  }

  /** @param {any} value @param {number} depth @param {boolean} bare texts without quotes */
  value(value, depth, bare) {
    switch (typeof value) {
      case "string":
        if (bare) return this.write(value);
        return this.write(
          stringify(value.length > this.room ? text.slice(value, 0, this.room) : value),
        );
      case "number":
        if (bare) return this.write(value === 0 && 1 / value < 0 ? "-0" : `${value}`);
        return this.write(value - value === 0 ? `${value}` : `"${value}"`);
      case "bigint":
        return this.write(bare ? `${value}` : `"${value}"`);
      case "symbol":
        return this.write(bare ? symbolText(value) : stringify(symbolText(value)));
      case "function":
        return this.write(`[${functionText(value)}]`);
      case "object":
        return value === null ? this.write("null") : this.object(value, depth, bare);
      default:
        return this.write(bare ? `${value}` : "null");
    }
  }

  /** @param {any} object @param {number} depth @param {boolean} bare */
  object(object, depth, bare) {
    if (this.within.has(object) || depth === 0) {
      this.write(depth === 0 ? "[…]" : "[Circular]");
      return;
    }
    this.within.add(object);
    try {
      this.known(object, depth, bare);
    } catch (error) {
      if (error === ENOUGH) throw error;
      this.write("[unreadable]");
    }
    this.within.delete(object);
  }

  /** @param {any} object @param {number} depth @param {boolean} bare */
  known(object, depth, bare) {
    const kind = kindOf(object);
    switch (kind) {
      case "ours":
        return this.write(`[${nameOfOurs(object)}]`);
      case "promise":
        return this.write("[Promise]");
      case "date":
        return this.write(
          bare ? (isoText(object) ?? "Invalid Date") : stringify(isoText(object) ?? "Invalid Date"),
        );
      case "error":
        return this.error(object, depth, bare);
      default:
    }
    const { toJSON } = object;
    if (typeof toJSON === "function" && isOwnJson(object, toJSON)) {
      return this.value(object.toJSON(""), depth - 1, bare);
    }
    switch (kind) {
      case "list":
        return this.list(object, depth);
      case "map":
        return this.map(object, depth);
      case "set":
        return this.set(object, depth);
      case "bytes":
        return this.bytes(object);
      case "regexp": {
        const source = `/${regexpSource(object)}/${regexpFlags(object)}`;
        return this.write(bare ? source : stringify(source));
      }
      case "number":
      case "text":
      case "boolean":
      case "bigint":
        return this.value(unbox(kind, object), depth, bare);
      default:
        return this.record(object, depth);
    }
  }

  /** @param {any} error @param {number} depth @param {boolean} bare */
  error(error, depth, bare) {
    const name = errorName(error);
    const { message, cause } = error;
    const code = codeOf(error);
    let out = typeof message === "string" && message !== "" ? `${name}: ${message}` : name;
    if (code !== undefined) out += ` [${code}]`;
    this.write(bare ? out : stringify(out));
    if (bare && cause !== undefined && cause !== null) {
      this.write("\n  caused by: ");
      this.value(cause, depth - 1, true);
    }
  }

  /** @param {any} list @param {number} depth */
  list(list, depth) {
    this.write("[");
    for (let i = 0; i < list.length; i++) {
      if (i > 0) this.write(",");
      this.value(list[i], depth - 1, false);
    }
    this.write("]");
  }

  /** @param {any} map @param {number} depth */
  map(map, depth) {
    let named = true;
    mapEach(map, (/** @type {any} */ _, /** @type {any} */ key) => {
      if (typeof key !== "string") named = false;
    });
    let i = 0;
    this.write(named ? "{" : "[");
    mapEach(map, (/** @type {any} */ value, /** @type {any} */ key) => {
      if (i++ > 0) this.write(",");
      if (named) {
        this.write(`${stringify(key)}:`);
      } else {
        this.write("[");
        this.value(key, depth - 1, false);
        this.write(",");
      }
      this.value(value, depth - 1, false);
      if (!named) this.write("]");
    });
    this.write(named ? "}" : "]");
  }

  /** @param {any} set @param {number} depth */
  set(set, depth) {
    let i = 0;
    this.write("[");
    setEach(set, (/** @type {any} */ value) => {
      if (i++ > 0) this.write(",");
      this.value(value, depth - 1, false);
    });
    this.write("]");
  }

  /** @param {any} object */
  bytes(object) {
    const bytes = windowOf(object);
    const length = view.length(bytes);
    const shown = min(length, 48);
    const head = new Bytes(view.buffer(bytes), view.byteOffset(bytes), shown);
    const more = length > shown ? `… ${length} bytes` : "";
    this.write(`{"$bytes":"${encodeBase64(head)}${more}"}`);
  }

  /** @param {any} object @param {number} depth */
  record(object, depth) {
    const names = keys(object);
    let written = 0;
    this.write("{");
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      let value;
      try {
        value = object[name];
      } catch {
        value = UNREADABLE;
      }
      if (value === undefined) continue;
      if (written++ > 0) this.write(",");
      this.write(`${stringify(name)}:`);
      if (value === UNREADABLE) this.write("[unreadable]");
      else this.value(value, depth - 1, false);
    }
    this.write("}");
  }
}
const UNREADABLE = {};

detach(Line);

/** @param {any} object @param {any} toJSON */
function isOwnJson(object, toJSON) {
  if (toJSON !== own(ObjectPrototype, "toJSON") && toJSON !== own(ArrayPrototype, "toJSON")) {
    return true;
  }
  return hasOwn(object, "toJSON");
}

/** @param {any} fn @returns {string} */
function functionText(fn) {
  const ours = nameOfOurs(fn);
  if (ours !== undefined) return ours;
  let name;
  try {
    ({ name } = fn);
  } catch {
    // A trap or getter of the program's.
  }
  return typeof name === "string" && name !== "" ? `Function ${name}` : "Function";
}

/**
 * A value as a line shows it.
 *
 * @param {any} value
 * @param {number} room characters that are worth writing
 * @param {boolean} [bare] texts without quotes
 * @returns {string}
 */
export function show(value, room, bare = true) {
  const line = new Line(room);
  try {
    line.value(value, MAX_DEPTH, bare);
  } catch (error) {
    // The stack can be used up where the program logs, and then the line ends here.
    if (error !== ENOUGH && line.out === "") return "[unreadable]";
  }
  return line.out;
}

/**
 * The arguments of `console.log` as one line; a text first may hold `%s %d %i %f %j %o %O %c %%`.
 *
 * @param {ArrayLike<any>} args
 * @param {number} room
 * @returns {string}
 */
export function formatLine(args, room) {
  let out = "";
  let next = 0;
  if (typeof args[0] === "string") {
    next = 1;
    const format = args[0];
    let from = 0;
    for (
      let at = args.length > 1 ? text.indexOf(format, "%") : -1;
      at >= 0;
      at = text.indexOf(format, "%", from)
    ) {
      const letter = text.slice(format, at + 1, at + 2);
      const is = next < args.length ? substitute(letter, args[next], room) : undefined;
      out += text.slice(format, from, at);
      if (letter === "%") {
        out += "%";
      } else if (is === undefined) {
        out += `%${letter}`;
      } else {
        out += is;
        next++;
      }
      from = at + 2;
      if (out.length > room) return out;
    }
    out += text.slice(format, from);
  }
  for (let i = next; i < args.length && out.length <= room; i++) {
    if (i > 0) out += " ";
    out += show(args[i], room);
  }
  return out;
}

/** @param {string} letter @param {any} value @param {number} room @returns {string | undefined} */
function substitute(letter, value, room) {
  switch (letter) {
    case "s":
      return show(value, room);
    case "d":
      return numeric(value) ?? `${numberOf(value)}`;
    case "i":
      return (
        numeric(value) ??
        `${trunc(typeof value === "string" ? parseInt(value, 10) : numberOf(value))}`
      );
    case "f":
      return `${typeof value === "string" ? parseFloat(value) : numberOf(value)}`;
    case "j":
    case "o":
    case "O":
      return show(value, room, false);
    case "c":
      return "";
    default:
      return undefined;
  }
}

/** @param {any} value @returns {string | undefined} */
const numeric = (value) => (typeof value === "bigint" ? `${value}` : undefined);

/** @param {any} value @returns {number} */
function numberOf(value) {
  if (typeof value === "number") return value;
  if (typeof value === "string") return toNumber(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  return NaN;
}
