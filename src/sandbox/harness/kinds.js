// What a value is, told by its brand and not by what it says of itself: `Symbol.toStringTag`,
// `instanceof` and `constructor` are the program's to set.

import {
  Promise,
  SafeWeakMap,
  getPrototypeOf,
  getter,
  Bytes,
  hasOwn,
  isArray,
  isNaN,
  isView,
  setPrototypeOf,
  uncurry,
  view,
} from "./intrinsics.js";

const ArrayPrototype = Array.prototype;
const ObjectPrototype = Object.prototype;
const isPrototypeOf = uncurry(ObjectPrototype.isPrototypeOf);

/** Own methods and getters that throw where the receiver has not the brand. */
const probes = {
  __proto__: null,
  map: getter(Map.prototype, "size"),
  set: getter(Set.prototype, "size"),
  date: uncurry(Date.prototype.getTime),
  buffer: getter(ArrayBuffer.prototype, "byteLength"),
  regexp: getter(RegExp.prototype, "source"),
  number: uncurry(Number.prototype.valueOf),
  text: uncurry(String.prototype.valueOf),
  boolean: uncurry(Boolean.prototype.valueOf),
  bigint: uncurry(BigInt.prototype.valueOf),
};

/** @type {(error: any) => boolean} */
const isErrorBrand = /** @type {any} */ (Error).isError ?? (() => false);
const ErrorPrototype = Error.prototype;
const PromisePrototype = Promise.prototype;

/**
 * Whether `value` is an error: by brand where the engine tells it, else by its prototype chain. A proxy may
 * throw when it is asked, and is none.
 *
 * @param {any} value
 */
export function isError(value) {
  if (typeof value !== "object" || value === null) return false;
  try {
    return isErrorBrand(value) || isPrototypeOf(ErrorPrototype, value);
  } catch {
    return false;
  }
}

/** @param {string} probe @param {object} value */
function has(probe, value) {
  try {
    /** @type {any} */ (probes)[probe](value);
    return true;
  } catch {
    return false;
  }
}

/** Objects of the harness that a program holds and that are no data, with the name they go by. */
const ours = new SafeWeakMap();

/** @param {object} object @param {string} name */
export const markOurs = (object, name) => ours.set(object, name);

/** @param {object} object @returns {string | undefined} */
export const nameOfOurs = (object) => ours.get(object);

/**
 * @typedef {"list" | "plain" | "instance" | "map" | "set" | "date" | "bytes" | "error" | "regexp"
 *   | "promise" | "number" | "text" | "boolean" | "bigint" | "ours"} Kind
 */

/**
 * What an object is.
 *
 * @param {any} object neither null nor a function
 * @returns {Kind}
 */
export function kindOf(object) {
  if (isArray(object)) return "list";
  if (ours.has(object)) return "ours";
  const prototype = getPrototypeOf(object);
  if (prototype === ObjectPrototype || prototype === null) return "plain";
  if (isView(object) || has("buffer", object)) return "bytes";
  if (isError(object)) return "error";
  if (isPrototypeOf(PromisePrototype, object)) return "promise";
  for (let i = 0; i < ORDER.length; i++) {
    if (has(ORDER[i], object)) return /** @type {Kind} */ (ORDER[i]);
  }
  return "instance";
}

/** @type {any} */
const ORDER = ["map", "set", "date", "regexp", "number", "text", "boolean", "bigint"];
setPrototypeOf(ORDER, null);

/** The value inside a boxed primitive. @param {Kind} kind @param {any} object */
export const unbox = (kind, object) => /** @type {any} */ (probes)[kind](object);

const toISO = uncurry(Date.prototype.toISOString);

/** ISO text, or null for an invalid date. @param {any} date @returns {string | null} */
export function isoText(date) {
  const time = probes.date(date);
  return isNaN(time) ? null : toISO(date);
}

export const regexpSource = getter(RegExp.prototype, "source");
export const regexpFlags = getter(RegExp.prototype, "flags");

/** The name of the view's or buffer's class. @param {any} bytes @returns {string} */
export function viewName(bytes) {
  if (!isView(bytes)) return "ArrayBuffer";
  return view.tag(bytes) ?? "DataView";
}

const dataView = {
  buffer: getter(DataView.prototype, "buffer"),
  byteLength: getter(DataView.prototype, "byteLength"),
  byteOffset: getter(DataView.prototype, "byteOffset"),
};

/** The window of a view, or the whole buffer, as bytes. @param {any} bytes @returns {Uint8Array} */
export function windowOf(bytes) {
  if (!isView(bytes)) return new Bytes(bytes);
  const part = view.tag(bytes) === undefined ? dataView : view;
  return new Bytes(part.buffer(bytes), part.byteOffset(bytes), part.byteLength(bytes));
}

/**
 * The name of an object's class, for messages: never what a getter says.
 *
 * @param {object} object
 * @returns {string}
 */
export function className(object) {
  try {
    const prototype = getPrototypeOf(object);
    if (prototype !== null && hasOwn(prototype, "constructor")) {
      const { name } = prototype.constructor;
      if (typeof name === "string" && name !== "") return name;
    }
  } catch {
    // A trap or getter of the program's.
  }
  return "an object without a class";
}

/** Unix ms of a date. @type {(date: any) => number} */
const timeOf = probes.date;

export { ArrayPrototype, ObjectPrototype, timeOf };
