// The globals of a program's realm, made to answer from the attempt whose turn it is.
//
// Replaced once an isolate, before a program is imported. Whatever could tell two attempts apart and is not
// recorded is replaced or taken away: clocks, timers, randomness, operations that settle outside the
// microtask queue, threads, collection, sockets. A program can undo all of it; it then makes its own
// replay diverge.

import {
  Bytes,
  Promise,
  SafeWeakMap,
  apply,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getter,
  isView,
  now,
  setOwn,
  text,
  uncurry,
  view,
} from "./intrinsics.js";
import { current } from "./turns.js";

const { construct } = Reflect;

/** What the attempt whose turn it is lends to the globals. @returns {any} */
const ambient = () => current()?.ambient;

/** @param {object} object @param {PropertyKey} name @param {any} value */
const put = (object, name, value) => setOwn(object, name, value, false);

/**
 * A method, of a function of its receiver and arguments.
 *
 * @param {(receiver: any, args: any[]) => any} run
 */
const method = (run) =>
  /** @this {any} @param {any[]} args */
  function (...args) {
    return run(this, args);
  };

/** A function of what the attempt lends under this name. @param {string} name */
const lent =
  (name) =>
  (/** @type {any[]} */ ...args) =>
    apply(ambient()[name], undefined, args);

/** Replaces the globals. @param {any} global */
export function replaceGlobals(global) {
  const TurnDate = turnDate();
  put(global, "Date", TurnDate);
  put(Date.prototype, "constructor", TurnDate);
  replaceFormats(Intl.DateTimeFormat.prototype);
  put(global, "performance", turnPerformance());
  if (global.Temporal !== undefined) delete global.Temporal.Now; // Its clock is not the program's.

  for (const name of ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "fetch"]) {
    put(global, name, lent(name));
  }
  put(AbortSignal, "timeout", abortAfter());
  put(global, "scheduler", freeze({ wait: waiter() }));
  defineProperty(global, "console", {
    configurable: true,
    get: () => ambient()?.console,
    set: (value) => put(global, "console", value),
  });

  put(Math, "random", () => ambient().random.float());
  put(Crypto.prototype, "randomUUID", () => ambient().random.uuid());
  put(Crypto.prototype, "getRandomValues", randomValues());
  put(SubtleCrypto.prototype, "generateKey", keyGenerator());

  for (const [type, names] of OPERATIONS) wrapOperations(global[type]?.prototype, names);
  iterateByReader(global.ReadableStream.prototype);

  put(global, "WeakRef", StrongRef);
  put(global, "FinalizationRegistry", NoRegistry);
  for (const name of ABSENT) if (name in global) put(global, name, undefined);
  put(Atomics, "waitAsync", undefined);
  put(WebAssembly, "Memory", undefined); // A shared one is the last way to a SharedArrayBuffer.
}

// ---- Clocks -------------------------------------------------------------------------------------------

const RealDate = Date;
const { UTC, parse } = Date;

/** The date of this turn; outside of any, the platform's. */
const date = () => ambient()?.date() ?? now();

/** `Date` with one time a turn. It shares the prototype, so `new Date().constructor` is it too. */
function turnDate() {
  const toText = uncurry(Date.prototype.toString);
  /** @param {any[]} args */
  function TurnDate(...args) {
    if (new.target === undefined) return toText(new RealDate(date()));
    return construct(RealDate, args.length > 0 ? args : [date()], new.target);
  }
  defineProperty(TurnDate, "name", { value: "Date", configurable: true });
  defineProperty(TurnDate, "length", { value: 7, configurable: true });
  defineProperty(TurnDate, "prototype", { value: Date.prototype, writable: false });
  put(TurnDate, "now", () => date());
  put(TurnDate, "UTC", UTC);
  put(TurnDate, "parse", parse);
  return TurnDate;
}

/** Formats read the platform's clock where they are given no date. @param {any} prototype */
function replaceFormats(prototype) {
  const formatOf = getter(prototype, "format");
  const { formatToParts } = prototype;
  const bound = new SafeWeakMap();
  defineProperty(prototype, "format", {
    configurable: true,
    get: method((receiver) => {
      let format = bound.get(receiver);
      if (format === undefined) {
        const real = formatOf(receiver);
        format = (/** @type {any} */ of) => real(of === undefined ? date() : of);
        bound.set(receiver, format);
      }
      return format;
    }),
  });
  const parts = method((receiver, args) =>
    apply(formatToParts, receiver, [args[0] === undefined ? date() : args[0]]),
  );
  put(prototype, "formatToParts", parts);
}

function turnPerformance() {
  const timeOrigin = () => ambient()?.origin() ?? now();
  const nothing = () => {};
  const none = () => [];
  const performance = {
    now: () => ambient()?.now() ?? 0,
    toJSON: () => ({ timeOrigin: timeOrigin() }),
    mark: nothing,
    measure: nothing,
    clearMarks: nothing,
    clearMeasures: nothing,
    getEntries: none,
    getEntriesByName: none,
    getEntriesByType: none,
  };
  defineProperty(performance, "timeOrigin", { enumerable: true, get: timeOrigin });
  return freeze(performance);
}

// ---- Timers -------------------------------------------------------------------------------------------

/** `AbortSignal.timeout` */
function abortAfter() {
  const Controller = AbortController;
  const Failure = DOMException;
  const abort = uncurry(Controller.prototype.abort);
  const signalOf = getter(Controller.prototype, "signal");
  return (/** @type {any} */ ms) => {
    const controller = new Controller();
    const expire = () =>
      abort(controller, new Failure("The operation was aborted due to timeout", "TimeoutError"));
    ambient().setTimeout(expire, ms);
    return signalOf(controller);
  };
}

/** `scheduler.wait` */
function waiter() {
  const listen = uncurry(EventTarget.prototype.addEventListener);
  const aborted = getter(AbortSignal.prototype, "aborted");
  const reasonOf = getter(AbortSignal.prototype, "reason");
  return (/** @type {any} */ ms, /** @type {any} */ options) =>
    new Promise((resolve, reject) => {
      const signal = options?.signal;
      const { setTimeout, clearTimeout } = ambient();
      if (signal && aborted(signal)) {
        reject(reasonOf(signal));
        return;
      }
      const id = setTimeout(resolve, ms);
      const stop = () => {
        clearTimeout(id);
        reject(reasonOf(signal));
      };
      if (signal) listen(signal, "abort", stop);
    });
}

// ---- Randomness ---------------------------------------------------------------------------------------

/** `crypto.getRandomValues` */
function randomValues() {
  const Failure = DOMException;
  return (/** @type {any} */ array) => {
    const kind = isView(array) ? view.tag(array) : undefined;
    if (kind === undefined || text.indexOf(kind, "Float") === 0) {
      throw new Failure("getRandomValues takes a view of whole numbers", "TypeMismatchError");
    }
    const length = view.byteLength(array);
    if (length > 65536) {
      throw new Failure("getRandomValues fills at most 65536 bytes", "QuotaExceededError");
    }
    ambient().random.fill(new Bytes(view.buffer(array), view.byteOffset(array), length));
    return array;
  };
}

/** `crypto.subtle.generateKey`: symmetric keys are bytes of ours, imported. */
function keyGenerator() {
  const Failure = DOMException;
  const importKey = uncurry(SubtleCrypto.prototype.importKey);
  return method((subtle, args) => {
    const bytes = keyBytes(args[0]);
    if (bytes > 0) {
      const raw = ambient().random.fill(new Bytes(bytes));
      return importKey(subtle, "raw", raw, args[0], args[1], args[2]);
    }
    const why = "a generated key pair cannot be replayed: make it in a tool";
    return new Promise((_, reject) => reject(new Failure(why, "NotSupportedError")));
  });
}

/** Bytes of a symmetric key; 0 for a pair. @param {any} algorithm */
function keyBytes(algorithm) {
  const name = text.toUpperCase(`${algorithm?.name ?? algorithm}`);
  if (text.indexOf(name, "AES-") === 0) return algorithm.length / 8;
  if (name !== "HMAC") return 0;
  const hash = `${algorithm.hash?.name ?? algorithm.hash}`;
  const long = text.includes(hash, "384") || text.includes(hash, "512");
  return (algorithm.length ?? (long ? 1024 : 512)) / 8;
}

// ---- Operations that settle in a later turn of the loop ---------------------------------------------------

const BODY = ["text", "json", "arrayBuffer", "bytes", "blob", "formData"];

/** @type {[type: string, names: string[]][]} */
const OPERATIONS = [
  ["Response", BODY],
  ["Request", BODY],
  ["ReadableStreamDefaultReader", ["read", "cancel"]],
  ["ReadableStreamBYOBReader", ["read", "readAtLeast", "cancel"]],
  ["WritableStreamDefaultWriter", ["write", "close", "abort"]],
  ["ReadableStream", ["pipeTo", "cancel"]],
];

/** Their settlements become events. @param {any} prototype @param {string[]} names */
function wrapOperations(prototype, names) {
  if (prototype === undefined) return;
  for (const name of names) {
    const owner = getOwnPropertyDescriptor(prototype, name) ? prototype : getPrototypeOf(prototype);
    const real = getOwnPropertyDescriptor(owner, name)?.value;
    if (typeof real !== "function") continue;
    const wrapped = method((receiver, args) => {
      const attempt = current();
      if (attempt === null) return apply(real, receiver, args);
      return attempt.operate(() => apply(real, receiver, args));
    });
    put(prototype, name, wrapped);
  }
}

/** `for await` over a stream reads it without a method that could be wrapped. @param {any} prototype */
function iterateByReader(prototype) {
  const { getReader } = prototype;
  const { asyncIterator } = Symbol;
  const values = method((stream, args) => {
    const reader = apply(getReader, stream, []);
    const keep = args[0]?.preventCancel === true;
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
      [asyncIterator]: () => iterator,
    };
    return iterator;
  });
  put(prototype, "values", values);
  put(prototype, asyncIterator, values);
}

// ---- What is not there ----------------------------------------------------------------------------------

/** Not recorded, so not there: threads, ports, caches, sockets. */
const ABSENT = [
  "MessageChannel",
  "MessagePort",
  "BroadcastChannel",
  "SharedArrayBuffer",
  "caches",
  "EventSource",
  "WebSocket",
  "WebSocketPair",
];

/** The language allows it: nothing is ever collected. */
const StrongRef = class WeakRef {
  #target;

  /** @param {any} target */
  constructor(target) {
    this.#target = target;
  }

  deref() {
    return this.#target;
  }
};

const NoRegistry = class FinalizationRegistry {
  register() {}

  unregister() {
    return false;
  }
};
