// The globals of a program's realm, made to answer from the attempt whose turn it is.
//
// Replaced once an isolate, before a program is imported. Whatever could tell two attempts apart and is not
// recorded is replaced or taken away: clocks, timers, randomness, operations that settle outside the microtask
// queue, threads, collection, sockets. A program can undo all of it; it then makes its own replay diverge.

import {
  Promise,
  apply,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  getter,
  isView,

  uncurry,
  SafeWeakMap,
} from "./intrinsics.js";
import { current } from "./turns.js";

const { AbortController, AbortSignal, Date, DOMException, WebAssembly } = globalThis;
const { construct } = Reflect;
const now = Date.now;

/** What the attempt whose turn it is lends to the globals; null outside of any. @returns {any} */
const ambient = () => current()?.ambient ?? null;

/** @param {object} object @param {PropertyKey} name @param {any} value */
const put = (object, name, value) =>
  defineProperty(object, name, { value, configurable: true, enumerable: false, writable: true });

/** Replaces the globals. @param {any} global */
export function replaceGlobals(global) {
  replaceClock(global);
  replaceTimers(global);
  replaceRandomness(global);
  wrapOperations(global);
  takeAway(global);
  put(global, "console", forward(CONSOLE, (a, name) => a.console[name]));
  put(global, "fetch", (/** @type {any[]} */ ...args) => apply(ambient().fetch, undefined, args));
}

const CONSOLE = [
  "log", "info", "warn", "error", "debug", "dir", "dirxml", "table", "group", "groupCollapsed", "groupEnd",
  "assert", "count", "countReset", "time", "timeLog", "timeEnd", "trace", "clear", "timeStamp", "profile",
  "profileEnd",
];

/** An object of functions that ask the attempt. @param {string[]} names @param {(ambient: any, name: string) => any} find */
function forward(names, find) {
  /** @type {any} */
  const out = {};
  for (const name of names) {
    out[name] = (/** @type {any[]} */ ...args) => {
      const to = ambient();
      return to === null ? undefined : apply(find(to, name), undefined, args);
    };
  }
  return out;
}

/** One time a turn. `new Date().constructor` must be ours too. @param {any} global */
function replaceClock(global) {
  const date = () => ambient()?.date() ?? now();
  const toText = uncurry(Date.prototype.toString);

  const TurnDate = /** @type {any} */ (
    function Date(/** @type {any[]} */ ...args) {
      if (new.target === undefined) return toText(new RealDate(date()));
      return construct(RealDate, args.length > 0 ? args : [date()], new.target);
    }
  );
  defineProperty(TurnDate, "length", { value: 7 });
  defineProperty(TurnDate, "prototype", { value: Date.prototype, writable: false });
  put(TurnDate, "now", () => date());
  put(TurnDate, "UTC", Date.UTC);
  put(TurnDate, "parse", Date.parse);
  put(Date.prototype, "constructor", TurnDate);
  put(global, "Date", TurnDate);

  const format = Intl.DateTimeFormat.prototype;
  const formatOf = getter(format, "format");
  const { formatToParts } = format;
  const bound = new SafeWeakMap();
  defineProperty(format, "format", {
    configurable: true,
    get() {
      let formats = bound.get(this);
      if (formats === undefined) {
        const real = formatOf(this);
        formats = (/** @type {any} */ of) => real(of === undefined ? date() : of);
        bound.set(this, formats);
      }
      return formats;
    },
  });
  put(format, "formatToParts", function (/** @type {any} */ of) {
    return apply(formatToParts, /** @type {any} */ (this), [of === undefined ? date() : of]);
  });
  if (global.Temporal !== undefined) delete global.Temporal.Now; // Its clock is not the program's.

  const timeOrigin = () => ambient()?.origin() ?? now();
  const performance = {
    now: () => ambient()?.now() ?? 0,
    toJSON: () => ({ timeOrigin: timeOrigin() }),
    mark() {},
    measure() {},
    clearMarks() {},
    clearMeasures() {},
    getEntries: () => [],
    getEntriesByName: () => [],
    getEntriesByType: () => [],
  };
  defineProperty(performance, "timeOrigin", { enumerable: true, get: timeOrigin });
  put(global, "performance", freeze(performance));
}
const RealDate = Date;

/** @param {any} global */
function replaceTimers(global) {
  for (const name of ["setTimeout", "setInterval", "clearTimeout", "clearInterval"]) {
    put(global, name, (/** @type {any[]} */ ...args) => apply(ambient()[name], undefined, args));
  }
  const abort = uncurry(AbortController.prototype.abort);
  const signalOf = getter(AbortController.prototype, "signal");
  put(AbortSignal, "timeout", (/** @type {any} */ ms) => {
    const controller = new AbortController();
    ambient().setTimeout(
      () => abort(controller, new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      ms,
    );
    return signalOf(controller);
  });

  const listen = uncurry(EventTarget.prototype.addEventListener);
  const aborted = getter(AbortSignal.prototype, "aborted");
  const reasonOf = getter(AbortSignal.prototype, "reason");
  const wait = (/** @type {any} */ ms, /** @type {any} */ options) =>
    new Promise((resolve, reject) => {
      const signal = options?.signal;
      const { setTimeout, clearTimeout } = ambient();
      if (signal && aborted(signal)) return reject(reasonOf(signal));
      const id = setTimeout(resolve, ms);
      if (!signal) return undefined;
      const stop = () => {
        clearTimeout(id);
        reject(reasonOf(signal));
      };
      return listen(signal, "abort", stop);
    });
  put(global, "scheduler", freeze({ wait }));
}

/** @param {any} global */
function replaceRandomness(global) {
  const byteLength = (/** @type {any} */ array) => array.byteLength;
  put(Math, "random", () => ambient().random.float());
  const { Crypto, SubtleCrypto } = global;
  put(Crypto.prototype, "randomUUID", () => ambient().random.uuid());
  put(Crypto.prototype, "getRandomValues", (/** @type {any} */ array) => {
    if (!isView(array) || !isWhole(array)) {
      throw new DOMException("getRandomValues takes a view of whole numbers", "TypeMismatchError");
    }
    if (byteLength(array) > 65536) {
      throw new DOMException("getRandomValues fills at most 65536 bytes", "QuotaExceededError");
    }
    ambient().random.fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  });
  const importKey = uncurry(SubtleCrypto.prototype.importKey);
  put(SubtleCrypto.prototype, "generateKey", function (
    /** @type {any} */ algorithm, /** @type {any} */ extractable, /** @type {any} */ uses,
  ) {
    const bytes = keyBytes(algorithm);
    if (bytes > 0) {
      const raw = ambient().random.fill(new Uint8Array(bytes));
      return importKey(this, "raw", raw, algorithm, extractable, uses);
    }
    const why = "a generated key pair cannot be replayed: make it in a tool, or inside step(name, fn) of bytes";
    return new Promise((_, reject) => reject(new DOMException(why, "NotSupportedError")));
  });
}

const viewTag = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

/** Whether a view is of whole numbers. @param {any} array */
function isWhole(array) {
  const tag = viewTag(array);
  return tag !== undefined && tag !== "Float16Array" && tag !== "Float32Array" && tag !== "Float64Array";
}

/** Bytes of a symmetric key; 0 for a pair. @param {any} algorithm */
function keyBytes(algorithm) {
  const name = `${algorithm?.name ?? algorithm}`;
  if (/^aes-/i.test(name)) return algorithm.length / 8;
  if (!/^hmac$/i.test(name)) return 0;
  const hash = `${algorithm.hash?.name ?? algorithm.hash}`;
  return (algorithm.length ?? (/384|512/.test(hash) ? 1024 : 512)) / 8;
}

/** What settles in a later turn of the loop becomes an event. @param {any} global */
function wrapOperations(global) {
  /** @param {string} type @param {string[]} names */
  const wrap = (type, names) => {
    const prototype = global[type]?.prototype;
    if (prototype === undefined) return;
    for (const name of names) {
      const real = getOwnPropertyDescriptor(prototype, name)?.value;
      if (typeof real !== "function") continue;
      put(prototype, name, function (/** @type {any[]} */ ...args) {
        const attempt = current();
        const start = () => apply(real, /** @type {any} */ (this), args);
        return attempt === null ? start() : attempt.operate(start);
      });
    }
  };
  const body = ["text", "json", "arrayBuffer", "bytes", "blob", "formData"];
  wrap("Body", body);
  wrap("Response", body);
  wrap("Request", body);
  wrap("ReadableStreamDefaultReader", ["read", "cancel"]);
  wrap("ReadableStreamBYOBReader", ["read", "readAtLeast", "cancel"]);
  wrap("WritableStreamDefaultWriter", ["write", "close", "abort"]);
  wrap("ReadableStream", ["pipeTo", "cancel"]);
  iterateByReader(global.ReadableStream?.prototype);
}

/** `for await` over a stream reads it without a method that could be wrapped. @param {any} prototype */
function iterateByReader(prototype) {
  if (prototype === undefined) return;
  const { getReader } = prototype;
  const values = function (/** @type {any} */ options) {
    const reader = apply(getReader, /** @type {any} */ (this), []);
    const keep = options?.preventCancel === true;
    const iterator = {
      next: async () => {
        const result = await reader.read();
        if (result.done) reader.releaseLock();
        return result;
      },
      return: async (/** @type {any} */ value) => {
        if (!keep) await reader.cancel(value);
        reader.releaseLock();
        return { done: true, value };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  };
  put(prototype, "values", values);
  put(prototype, Symbol.asyncIterator, values);
}

/** @param {any} global */
function takeAway(global) {
  // Allowed by the language: nothing is ever collected.
  put(global, "WeakRef", class WeakRef {
    #target;
    constructor(/** @type {any} */ target) {
      this.#target = target;
    }
    deref() {
      return this.#target;
    }
  });
  put(global, "FinalizationRegistry", class FinalizationRegistry {
    register() {}
    unregister() {
      return false;
    }
  });
  for (const name of [
    "MessageChannel", "MessagePort", "BroadcastChannel", "SharedArrayBuffer", "caches", "EventSource", "WebSocket",
    "WebSocketPair", "navigator", "reportError",
  ]) {
    if (name in global) put(global, name, undefined);
  }
  if (global.Atomics !== undefined) put(Atomics, "waitAsync", undefined);
  // A memory of threads is the last way to a SharedArrayBuffer.
  if (WebAssembly !== undefined) put(WebAssembly, "Memory", undefined);
}

