// What the harness takes from the language and the platform before a program runs.
//
// One realm is shared with the program, which may replace any global and any method of a built-in
// prototype. Whatever the harness needs later is taken here, at module level, while nothing of the
// program has run: methods as functions of their receiver, collections whose own prototype holds
// copies of the methods. The rule for the other files: call no method of a value the program can
// reach, iterate no array with `for…of` or spread, and read no field that may be missing without
// `own`, because `Object.prototype` is the program's too.
//
// What this cannot do: keep a program from harming itself. It may replace `Promise.prototype.then`
// and wait for ever.

const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { create, freeze, hasOwn, setPrototypeOf } = Object;
/** Own enumerable text keys. @type {(object: any) => any} */
const keys = Object.keys;
const { isArray } = Array;
const { parse, stringify } = JSON;
const Bytes = Uint8Array;
const toNumber = Number;
const { isNaN } = Number;
const { abs, ceil, floor, imul, max, min, trunc } = Math;
const { fromCharCode } = String;
const { isView } = ArrayBuffer;
const { now } = Date;
const { btoa, clearTimeout, setTimeout } = globalThis;

const bind = Function.prototype.bind.bind(Function.prototype.call);

/**
 * A method as a function of its receiver: `uncurry("".slice)(text, 1)`.
 *
 * @type {(method: Function) => (receiver: any, ...args: any[]) => any}
 */
const uncurry = /** @type {any} */ (bind);

/**
 * The getter of `prototype[name]` as a function, also where it is inherited. It throws where the receiver has
 * not the brand.
 *
 * @param {any} prototype
 * @param {PropertyKey} name
 */
function getter(prototype, name) {
  let owner = prototype;
  while (!hasOwn(owner, name)) owner = getPrototypeOf(owner);
  return uncurry(/** @type {any} */ (getOwnPropertyDescriptor(owner, name)?.get));
}

/**
 * A subclass that carries its methods itself and inherits from nothing, so that no change to a
 * built-in prototype reaches it. Walk it with `forEach`; its iterators are the program's.
 *
 * @template {abstract new (...args: any) => any} Collection
 * @param {Collection} Built
 * @returns {Collection}
 */
function hardened(Built) {
  const Hardened = class extends /** @type {any} */ (Built) {};
  for (const key of ownKeys(Built.prototype)) {
    if (key === "constructor") continue;
    const descriptor = /** @type {PropertyDescriptor} */ (
      getOwnPropertyDescriptor(Built.prototype, key)
    );
    defineProperty(Hardened.prototype, key, descriptor);
  }
  setPrototypeOf(Hardened.prototype, null);
  return /** @type {any} */ (Hardened);
}

const SafeMap = hardened(Map);
const SafeSet = hardened(Set);
const SafeWeakMap = hardened(WeakMap);

/**
 * The value of an own field, or undefined. For parsed JSON, whose missing fields are looked up in
 * `Object.prototype`.
 *
 * @param {any} object
 * @param {string} name
 */
const own = (object, name) => (hasOwn(object, name) ? object[name] : undefined);

/**
 * Sets an own field, where an assignment would ask the prototypes (`__proto__` above all).
 *
 * @param {object} object @param {PropertyKey} name @param {any} value @param {boolean} [enumerable]
 * @returns {any} the object
 */
function setOwn(object, name, value, enumerable = true) {
  defineProperty(object, name, descriptor(value, enumerable));
  return object;
}

/**
 * What describes a field of data. A plain object would inherit `get` from the program.
 *
 * @param {any} value @param {boolean} enumerable
 * @returns {any}
 */
const descriptor = (value, enumerable) => ({
  __proto__: null,
  value,
  enumerable,
  configurable: true,
  writable: true,
});

/**
 * Takes a class out of the reach of `Object.prototype`: its instances are made while the program runs, and
 * an assignment to a field that they do not have yet would ask the program's setters.
 *
 * @param {{ prototype: object }} Class
 */
const detach = (Class) => setPrototypeOf(Class.prototype, null);

const typedArray = getPrototypeOf(Uint8Array.prototype);
const encoder = new TextEncoder();
const encode = uncurry(encoder.encode);
const encodeInto = uncurry(encoder.encodeInto);

const text = {
  charCodeAt: uncurry("".charCodeAt),
  includes: uncurry("".includes),
  indexOf: uncurry("".indexOf),
  isWellFormed: uncurry("".isWellFormed),
  lastIndexOf: uncurry("".lastIndexOf),
  slice: uncurry("".slice),
  toUpperCase: uncurry("".toUpperCase),
  toWellFormed: uncurry("".toWellFormed),
};

const view = {
  buffer: getter(typedArray, "buffer"),
  byteLength: getter(typedArray, "byteLength"),
  byteOffset: getter(typedArray, "byteOffset"),
  length: getter(typedArray, "length"),
  tag: getter(typedArray, Symbol.toStringTag),
};

/**
 * UTF-8 bytes of a text.
 *
 * @param {string} of
 * @returns {number}
 */
const utf8Length = (of) => view.byteLength(encode(encoder, of));

const P = Promise;
const then = uncurry(P.prototype.then);
/** A promise that nothing ever settles: what an ended attempt answers. */
const never = () => new P(() => {});

export {
  Bytes,
  P as Promise,
  SafeMap,
  SafeSet,
  SafeWeakMap,
  abs,
  apply,
  btoa,
  ceil,
  clearTimeout,
  create,
  defineProperty,
  detach,
  encodeInto,
  encoder,
  floor,
  freeze,
  fromCharCode,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getter,
  hasOwn,
  imul,
  isArray,
  isNaN,
  isView,
  keys,
  max,
  min,
  never,
  now,
  own,
  ownKeys,
  parse,
  setOwn,
  setPrototypeOf,
  setTimeout,
  stringify,
  text,
  then,
  toNumber,
  trunc,
  uncurry,
  utf8Length,
  view,
};
