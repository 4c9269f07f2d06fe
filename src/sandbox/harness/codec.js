// Values as tagged JSON: everything a program may hand over, as text, without loss.
//
// Plain JSON data is encoded as itself. What JSON lacks is an object with the key `$` first:
//
//   {"$":"undefined"}                        undefined, also a hole of a list
//   {"$":"number","v":"NaN"}                 NaN, Infinity, -Infinity, -0
//   {"$":"bigint","v":"12"}
//   {"$":"date","v":"2026-…Z"}               or null: an invalid date
//   {"$":"bytes","v":"AQI=","as":"…"}        base64; `as` names the class unless it is Uint8Array
//   {"$":"map","v":[k1,v1,k2,v2]}            {"$":"set","v":[…]}
//   {"$":"regexp","v":"a+","flags":"g"}
//   {"$":"error","v":{"name","message",…}}   with `cause`, `errors` and its own properties
//   {"$":"object","v":{…}}                   a plain object that has a key `$` itself
//
// There is no white space, so a text without `{"$":` holds no tag. Depth is counted in levels of this
// text. The other half is `src/run/value.rs`; both pass `tests/cases/codec.json`.
//
// Encoding reads the program's getters, traps and `toJSON`, and any of them may throw: that is a
// refusal with the path, never an error of the harness.

import { decodeBase64, encodeBase64 } from "./base64.js";
import {
  SafeSet,
  ceil,
  detach,
  getPrototypeOf,
  hasOwn,
  isArray,
  keys,
  own,
  parse,
  setOwn,
  stringify,
  text,
  toNumber,
  uncurry,
  utf8Length,
  view,
} from "./intrinsics.js";
import {
  ArrayPrototype,
  ObjectPrototype,
  className,
  isoText,
  kindOf,
  nameOfOurs,
  regexpFlags,
  regexpSource,
  unbox,
  viewName,
  windowOf,
} from "./kinds.js";

/** Levels of tagged text that a value may have. The host's parser stops at 128. */
export const MAX_DEPTH = 100;
const TAG = "$";
const MARK = '{"$":';

/**
 * @typedef {{ up: Path | null, key: string | number }} Path Where a value stands.
 * @typedef {(className: string, path: string) => void} Warn
 */

/** Why a value is not data. A class with a brand: programs can throw anything, and do. */
export class Refusal {
  #brand = true;
  /**
   * @param {string} refused `function`, `symbol`, `circular`, `deep`, `throws`, or what it is
   * @param {string} path
   * @param {string} detail
   */
  constructor(refused, path, detail) {
    this.refused = refused;
    this.path = path;
    this.detail = detail;
  }
  /** @param {any} thrown @returns {thrown is Refusal} */
  static is(thrown) {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }
}

/** A value over the limit. */
export class Large {
  #brand = true;
  /** @param {number} bytes at least so many */
  constructor(bytes) {
    this.bytes = bytes;
  }
  /** @param {any} thrown @returns {thrown is Large} */
  static is(thrown) {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }
}

detach(Refusal);
detach(Large);

/** The text of a string, with U+FFFD for lone surrogates. @param {string} string @returns {string} */
export const quote = (string) =>
  stringify(text.isWellFormed(string) ? string : text.toWellFormed(string));

/** Whether a key can stand behind a dot: letters, digits, `_` and `$`. @param {string} key */
function isIdentifier(key) {
  for (let i = 0; i < key.length; i++) {
    const code = text.charCodeAt(key, i);
    const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
    const digit = code >= 48 && code <= 57 && i > 0;
    if (!letter && !digit && code !== 95 && code !== 36) return false;
  }
  return key !== "";
}

/** A path as one writes it: `rows[0].done`. @param {Path | null} path @returns {string} */
function pathText(path) {
  let out = "";
  for (let at = path; at !== null; at = at.up) {
    const { key } = at;
    if (typeof key === "number") out = `[${key}]${out}`;
    else if (isIdentifier(key)) out = `.${key}${out}`;
    else out = `[${quote(key)}]${out}`;
  }
  if (out.length > MOST_PATH) out = `${text.slice(out, 0, MOST_PATH)}…`;
  return text.charCodeAt(out, 0) === 46 ? text.slice(out, 1) : out;
}
const MOST_PATH = 200;

/**
 * Whether `value` is plain JSON data that `JSON.stringify` writes as the codec would. It reads each
 * part once, calls nothing but getters and traps, and stops once more than `room.left` is written.
 *
 * @param {any} value
 * @param {number} depth levels that are left
 * @param {{ left: number }} room
 * @returns {boolean}
 */
function isPlain(value, depth, room) {
  switch (typeof value) {
    case "string":
      return (room.left -= value.length + 3) >= 0;
    case "number":
      room.left -= 2;
      return value - value === 0 && (value !== 0 || 1 / value > 0);
    case "boolean":
      room.left -= 5;
      return true;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return (room.left -= 5) >= 0;
  if (depth === 0 || value.toJSON !== undefined) return false;
  const prototype = getPrototypeOf(value);
  if (isArray(value)) {
    const { length } = value;
    if (prototype !== ArrayPrototype || length > room.left) return false;
    for (let i = 0; i < length; i++) if (!isPlain(value[i], depth - 1, room)) return false;
    return (room.left -= 2) >= 0;
  }
  if ((prototype !== ObjectPrototype && prototype !== null) || nameOfOurs(value) !== undefined) {
    return false;
  }
  const names = keys(value);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    room.left -= name.length + 3;
    if (name === TAG || !isPlain(value[name], depth - 1, room)) return false;
  }
  return (room.left -= 2) >= 0;
}

/** What writes one value, piece by piece. Pieces are texts, or promises that are still open. */
class Writer {
  /** @param {number} limit @param {Warn} warn */
  constructor(limit, warn) {
    this.limit = limit;
    this.left = limit;
    this.warn = warn;
    this.out = "";
    /** @type {any} Objects that contain the one being written. */
    this.within = new SafeSet();
    /** @type {Slot | null} The last promise met; they are linked backwards. */
    this.slot = null;
  }

  /** @param {string} piece */
  write(piece) {
    if ((this.left -= piece.length) < 0) throw this.large(0);
    this.out += piece;
  }

  /** @param {number} more @returns {Large} */
  large(more) {
    return new Large(ceil(this.limit - this.left + more));
  }

  /** @param {string} string */
  writeText(string) {
    if (string.length > this.left) throw this.large(string.length + 2);
    this.write(quote(string));
  }

  /** @param {any} value @param {Path | null} path @param {number} depth @returns {void} */
  value(value, path, depth) {
    switch (typeof value) {
      case "string":
        return this.writeText(value);
      case "number":
        return this.write(numberText(value));
      case "boolean":
        return this.write(value ? "true" : "false");
      case "undefined":
        return this.write('{"$":"undefined"}');
      case "bigint":
        return this.write(`{"$":"bigint","v":"${value}"}`);
      case "symbol":
        throw refusal("symbol", path);
      case "function":
        if (nameOfOurs(value) !== undefined) {
          throw refusal(/** @type {any} */ (nameOfOurs(value)), path);
        }
        if (hasJson(value, path)) return this.json(value, path, depth);
        throw refusal("function", path);
      default:
        return value === null ? this.write("null") : this.object(value, path, depth);
    }
  }

  /** @param {any} object @param {Path | null} path @param {number} depth @returns {void} */
  object(object, path, depth) {
    const kind = reading(path, () => kindOf(object));
    switch (kind) {
      case "ours":
        throw refusal(/** @type {string} */ (nameOfOurs(object)), path);
      case "promise":
        return this.promise(object, path, depth);
      case "date":
        return this.write(`{"$":"date","v":${stringify(isoText(object))}}`);
      default:
    }
    if (hasJson(object, path)) return this.json(object, path, depth);
    switch (kind) {
      case "number":
      case "text":
      case "boolean":
      case "bigint":
        return this.value(unbox(kind, object), path, depth);
      case "bytes":
        return this.bytes(object);
      case "regexp":
        return this.write(
          `{"$":"regexp","v":${quote(regexpSource(object))},"flags":${quote(reading(path, () => regexpFlags(object)))}}`,
        );
      default:
        return this.container(kind, object, path, depth);
    }
  }

  /**
   * @param {import("./kinds.js").Kind} kind
   * @param {any} object @param {Path | null} path @param {number} depth
   */
  container(kind, object, path, depth) {
    if (this.within.has(object)) throw refusal("circular", path);
    this.within.add(object);
    const bare = kind === "list" || kind === "plain" || kind === "instance";
    const escaped = bare && kind !== "list" && reading(path, () => hasOwn(object, TAG));
    const left = depth - (bare && !escaped ? 1 : 2);
    if (left < 0) throw refusal("deep", path);
    switch (kind) {
      case "list":
        this.list(object, path, left);
        break;
      case "map":
      case "set":
        this.collection(kind, object, path, left);
        break;
      case "error":
        this.error(object, path, left);
        break;
      default:
        if (kind === "instance") this.warn(className(object), pathText(path));
        this.record(object, path, left, escaped);
    }
    this.within.delete(object);
  }

  /** What `toJSON` gives. @param {any} object @param {Path | null} path @param {number} depth */
  json(object, path, depth) {
    if (depth === 0) throw refusal("deep", path);
    if (this.within.has(object)) throw refusal("circular", path);
    this.within.add(object);
    const value = reading(path, () => object.toJSON(path === null ? "" : `${path.key}`));
    // As JSON.stringify does it, what comes out is not asked again; only its parts are.
    if (
      typeof value === "object" &&
      value !== null &&
      hasJson(value, path) &&
      kindOf(value) !== "date"
    ) {
      if (value === object || this.within.has(value)) throw refusal("circular", path);
      this.within.add(value);
      this.record(value, path, depth - 1, hasOwn(value, TAG));
      this.within.delete(value);
    } else {
      this.value(value, path, depth - 1);
    }
    this.within.delete(object);
  }

  /** @param {any} list @param {Path | null} path @param {number} depth */
  list(list, path, depth) {
    const at = { up: path, key: 0 };
    const length = reading(path, () => list.length);
    this.write("[");
    for (let i = 0; i < length; i++) {
      at.key = i;
      if (i > 0) this.write(",");
      this.value(
        reading(at, () => list[i]),
        at,
        depth,
      );
    }
    this.write("]");
  }

  /**
   * Own enumerable string keys.
   *
   * @param {any} object @param {Path | null} path @param {number} depth @param {boolean} escaped
   */
  record(object, path, depth, escaped) {
    const names = reading(path, () => keys(object));
    this.write(escaped ? '{"$":"object","v":{' : "{");
    const at = { up: path, key: "" };
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      at.key = name;
      if (i > 0) this.write(",");
      this.writeText(name);
      this.write(":");
      this.value(
        reading(at, () => object[name]),
        at,
        depth,
      );
    }
    this.write(escaped ? "}}" : "}");
  }

  /** @param {"map" | "set"} kind @param {any} collection @param {Path | null} path @param {number} depth */
  collection(kind, collection, path, depth) {
    this.write(`{"$":"${kind}","v":[`);
    const at = { up: path, key: /** @type {string | number} */ (0) };
    let i = 0;
    forEach[kind](collection, (/** @type {any} */ value, /** @type {any} */ key) => {
      if (i > 0) this.write(",");
      at.key = kind === "map" && typeof key === "string" ? key : i;
      if (kind === "map") {
        this.value(key, at, depth);
        this.write(",");
      }
      this.value(value, at, depth);
      i++;
    });
    this.write("]}");
  }

  /** @param {any} error @param {Path | null} path @param {number} depth */
  error(error, path, depth) {
    this.write('{"$":"error","v":{"name":');
    this.writeText(errorName(error));
    this.write(',"message":');
    this.writeText(readText(error, "message"));
    const at = { up: path, key: "" };
    const part = (/** @type {string} */ name) => {
      at.key = name;
      this.write(`,${quote(name)}:`);
      this.value(
        reading(at, () => error[name]),
        at,
        depth,
      );
    };
    if (hasOwn(error, "cause")) part("cause");
    if (hasOwn(error, "errors")) part("errors");
    const names = reading(path, () => keys(error));
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (
        name !== "name" &&
        name !== "message" &&
        name !== "cause" &&
        name !== "errors" &&
        name !== "stack"
      ) {
        part(name);
      }
    }
    this.write("}}");
  }

  /** @param {any} object */
  bytes(object) {
    const bytes = windowOf(object);
    const size = view.length(bytes) * 1.34;
    if (size > this.left) throw this.large(size);
    const name = viewName(object);
    const as = name === "Uint8Array" ? "" : `,"as":"${name}"`;
    this.write(`{"$":"bytes","v":"${encodeBase64(bytes)}"${as}}`);
  }

  /** @param {any} promise @param {Path | null} path @param {number} depth */
  promise(promise, path, depth) {
    /** @type {any} */
    const within = new SafeSet();
    this.within.forEach((/** @type {any} */ object) => within.add(object));
    this.slot = { before: this.slot, text: this.out, promise, path: copy(path), depth, within };
    this.out = "";
  }

  /**
   * The whole text, once every promise met has settled. Rejects with what the first of them
   * rejected with, or with a refusal.
   *
   * @returns {Promise<string>}
   */
  async settled() {
    if (this.slot === null) return this.out;
    // All are waited for at once, so that none rejects unheard.
    const tail = this.out;
    /** @type {{ text: string, filled: Promise<string>, next: any } | null} */
    let first = null;
    for (let slot = /** @type {Slot | null} */ (this.slot); slot !== null; slot = slot.before) {
      first = { text: slot.text, filled: this.fill(slot), next: first };
    }
    /** @type {{ error: any } | null} */
    let failed = null;
    let out = "";
    for (let slot = first; slot !== null; slot = slot.next) {
      out += slot.text;
      try {
        out += await slot.filled;
      } catch (error) {
        failed ??= { error };
      }
    }
    if (failed !== null) throw failed.error;
    return out + tail;
  }

  /** @param {Slot} slot @returns {Promise<string>} */
  async fill(slot) {
    const value = await slot.promise;
    const inner = new Writer(this.left, this.warn);
    inner.within = slot.within;
    inner.value(value, slot.path, slot.depth);
    const filled = await inner.settled();
    if ((this.left -= filled.length) < 0) throw this.large(0);
    return filled;
  }
}

detach(Writer);

/**
 * @typedef {object} Slot A promise inside a value.
 * @property {Slot | null} before the one met before
 * @property {string} text what was written between the two
 * @property {any} promise
 * @property {Path | null} path
 * @property {number} depth
 * @property {any} within the objects around it
 */

/** @param {Path | null} path @returns {Path | null} */
const copy = (path) => (path === null ? null : { up: copy(path.up), key: path.key });

const forEach = {
  map: uncurry(Map.prototype.forEach),
  set: uncurry(Set.prototype.forEach),
};

/** @param {number} number */
function numberText(number) {
  if (number - number !== 0) return `{"$":"number","v":"${number}"}`;
  return number === 0 && 1 / number < 0 ? '{"$":"number","v":"-0"}' : `${number}`;
}

/**
 * @param {string} refused @param {Path | null} path @param {string} [detail]
 * @returns {Refusal}
 */
const refusal = (refused, path, detail = "") => new Refusal(refused, pathText(path), detail);

/**
 * Runs what may run code of the program's.
 *
 * @template T
 * @param {Path | null} path
 * @param {() => T} read
 * @returns {T}
 */
function reading(path, read) {
  try {
    return read();
  } catch (error) {
    throw refusal("throws", path, safeText(error));
  }
}

/** Whether an object has a `toJSON` that is its own or its class's, not one planted for all. */
function hasJson(/** @type {any} */ object, /** @type {Path | null} */ path) {
  const json = reading(path, () => object.toJSON);
  if (typeof json !== "function") return false;
  if (json !== own(ObjectPrototype, "toJSON") && json !== own(ArrayPrototype, "toJSON")) {
    return true;
  }
  return hasOwn(object, "toJSON");
}

/** @param {any} object @param {string} name @returns {string} */
function readText(object, name) {
  try {
    const value = object[name];
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}

/** @param {any} error @returns {string} */
export function errorName(error) {
  const name = readText(error, "name");
  if (name !== "" && name !== "Error") return name;
  const named = className(error);
  return named === "an object without a class" ? name || "Error" : named;
}

/** What an error says, for a message about it; never runs more than its `message`. */
function safeText(/** @type {any} */ error) {
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null) return `${typeof error}`;
  return readText(error, "message");
}

/**
 * The tagged text of a value, or a promise of it when promises stand in it.
 *
 * Throws (or rejects with) a {@link Refusal} or {@link Large}, or what a promise inside rejected with.
 *
 * @param {any} value
 * @param {number} limit bytes of UTF-8
 * @param {Warn} warn told of instances of classes, which become plain objects
 * @returns {string | Promise<string>}
 */
export function encode(value, limit, warn) {
  /** @type {string | undefined} */
  let out;
  try {
    if (isPlain(value, MAX_DEPTH, { left: limit })) out = stringify(value);
  } catch {
    // A getter or trap threw: the writer finds out which.
  }
  // A lone surrogate is written as an escape, which strict parsers refuse.
  if (out !== undefined && !text.includes(out, "\\ud")) return checked(out, limit);
  const writer = new Writer(limit, warn);
  writer.value(value, null, MAX_DEPTH);
  return writer.slot === null ? checked(writer.out, limit) : later(writer, limit);
}

/** @param {Writer} writer @param {number} limit */
const later = async (writer, limit) => checked(await writer.settled(), limit);

/** @param {string} out @param {number} limit @returns {string} */
function checked(out, limit) {
  if (out.length * 3 <= limit) return out;
  const bytes = utf8Length(out);
  if (bytes > limit) throw new Large(bytes);
  return out;
}

/**
 * What a refusal says: `rows[0].done is a function`.
 *
 * @param {Refusal} refused
 * @param {string} whole what to call the value itself, e.g. `the result`
 */
export function explain({ refused, path, detail }, whole) {
  const what = path === "" ? whole : path;
  switch (refused) {
    case "function":
      return `${what} is a function`;
    case "symbol":
      return `${what} is a symbol`;
    case "circular":
      return `${what} is circular: it contains itself`;
    case "deep":
      return `${what} is too deep: data may be nested ${MAX_DEPTH} levels`;
    case "throws":
      return `${what} cannot be read: ${detail || "reading it threw"}`;
    default:
      return `${what} is ${refused}, which is no data`;
  }
}

// ---- Decoding ------------------------------------------------------------------------------------

/**
 * Whether a JSON text of the host's holds tags.
 *
 * @param {string} json
 * @returns {boolean}
 */
export const isTagged = (json) => text.includes(json, MARK);

/**
 * The value of parsed tagged JSON. Changes what it is given.
 *
 * @param {any} json
 * @returns {any}
 */
export function decode(json) {
  if (typeof json !== "object" || json === null) return json;
  if (isArray(json)) {
    for (let i = 0; i < json.length; i++) {
      const part = json[i];
      if (typeof part === "object" && part !== null) json[i] = decode(part);
    }
    return json;
  }
  return hasOwn(json, TAG) ? untag(json) : decodeParts(json);
}

/** @param {any} object */
function decodeParts(object) {
  const names = keys(object);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const part = object[name];
    // Defined, not assigned: a key may be `__proto__`.
    if (typeof part === "object" && part !== null) setOwn(object, name, decode(part));
  }
  return object;
}

const ClassicDate = Date;
const ClassicRegExp = RegExp;

/** @param {any} tagged @returns {any} */
function untag(tagged) {
  const v = own(tagged, "v");
  switch (tagged[TAG]) {
    case "undefined":
      return undefined;
    case "number":
      return v === "-0" ? -0 : toNumber(v);
    case "bigint":
      return BigIntOf(v);
    case "date":
      return new ClassicDate(v === null ? NaN : v);
    case "bytes":
      return decodeBase64(v);
    case "map":
      return mapOf(v);
    case "set":
      return setOf(v);
    case "regexp":
      return new ClassicRegExp(v, own(tagged, "flags") ?? "");
    case "error":
      return errorOf(v);
    case "object":
      return decodeParts(v);
    default:
      return decodeParts(tagged);
  }
}

const BigIntOf = BigInt;
const ClassicMap = Map;
const ClassicSet = Set;
const mapSet = uncurry(Map.prototype.set);
const setAdd = uncurry(Set.prototype.add);

/** @param {any[]} flat */
function mapOf(flat) {
  const map = new ClassicMap();
  for (let i = 0; i + 1 < flat.length; i += 2) mapSet(map, decode(flat[i]), decode(flat[i + 1]));
  return map;
}

/** @param {any[]} list */
function setOf(list) {
  const set = new ClassicSet();
  for (let i = 0; i < list.length; i++) setAdd(set, decode(list[i]));
  return set;
}

const ClassicError = Error;
/** @type {Record<string, any>} */
const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/** @param {any} parts */
function errorOf(parts) {
  const name = own(parts, "name");
  const known = own(ERRORS, name);
  const error = new (known ?? ClassicError)(own(parts, "message"));
  if (known === undefined && name !== "Error") setOwn(error, "name", name, false);
  const names = keys(parts);
  for (let i = 0; i < names.length; i++) {
    const key = names[i];
    if (key === "name" || key === "message") continue;
    setOwn(error, key, decode(parts[key]), key !== "cause" && key !== "errors");
  }
  return error;
}

/** Parses and decodes a text. @param {string} json */
export function decodeText(json) {
  const value = parse(json);
  return isTagged(json) ? decode(value) : value;
}
