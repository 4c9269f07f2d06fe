// Dispatches as the program makes them: `tools.a.b(argument)`.
//
// A call's argument is encoded when the call is made. A call that cannot be sent (its argument is no data, or
// too large, or there is more than one) takes no number and makes no message; its promise rejects with an
// error of ours, whose fault is remembered here and not read from the error.

import { Large, Refusal, decode, encode, explain } from "./codec.js";
import {
  Promise,
  SafeMap,
  SafeSet,
  SafeWeakMap,
  create,
  freeze,
  never,
  own,
  setOwn,
  then,
  detach,
} from "./intrinsics.js";
import { markOurs } from "./kinds.js";

/** @typedef {import("./attempt.js").Attempt} Attempt */
/** @typedef {import("./attempt.js").Reply} Reply */
/** @typedef {{ n: number | null, path: string, fault: string | null }} Origin Where an
 *   error came from: a dispatch, or a fault of a call that was not made */

const ToolError = Error;
const SiteError = Error;
const NotAConstructor = TypeError;
const { toPrimitive } = Symbol;
const ToolProxy = Proxy;
const settled = Promise.resolve();

/** One call, and what is known of it. */
class Dispatch {
  /** @param {Calls} calls @param {string} path @param {CallOptions} options */
  constructor(calls, path, { step = false, looked = false, convert }) {
    this.calls = calls;
    this.path = path;
    this.step = step;
    this.looked = looked;
    this.convert = convert;
    this.n = -1;
    this.failed = false;
    /** Where it was made. Its stack is read only where a person is asked about the call. */
    this.site = new SiteError();
    /** @type {any} */
    this.error = undefined;
    /** @type {(value: any) => void} */
    this.resolve = () => {};
    /** @type {(error: any) => void} */
    this.reject = () => {};
    if (!looked) calls.unlooked.add(this);
  }

  /** The program hangs on this call. */
  look() {
    if (this.looked) return;
    this.looked = true;
    this.calls.unlooked.delete(this);
  }

  /** @param {Reply} reply */
  settle({ parsed, tagged }) {
    const error = own(parsed, "error");
    if (error !== undefined) {
      this.raise(() => this.calls.errorOf(error, this, tagged));
      return;
    }
    const value = own(parsed, "value");
    if (!this.looked) this.calls.unlooked.delete(this);
    try {
      const decoded = tagged ? decode(value) : value;
      this.resolve(this.convert === undefined ? decoded : this.convert(decoded));
    } catch (failure) {
      this.fail(failure);
    }
  }

  /**
   * Fails with an error made in a microtask that leads to whoever awaits this call. The engine then finds the
   * program's own line for the error's stack, and calls that succeed pay nothing for it.
   *
   * @param {() => any} make
   */
  raise(make) {
    this.failed = true;
    try {
      const making = then(settled, () => {
        this.error = make();
        throw this.error;
      });
      then(making, this.resolve, this.reject);
    } catch {
      this.fail(make()); // The program has made promises refuse to be chained.
    }
  }

  /** @param {any} error */
  fail(error) {
    this.failed = true;
    this.error = error;
    this.reject(error);
  }
}

detach(Dispatch);

/**
 * The promise of a call. `await`, `Promise.all`, `race` and the like call `then` on promises whose constructor
 * is not the plain one; so a call knows that it was looked at.
 */
class CallPromise extends /** @type {any} */ (Promise) {
  /** @type {Dispatch | undefined} */
  #dispatch;

  /** @param {(resolve: any, reject: any) => void} executor @param {Dispatch} [dispatch] */
  constructor(executor, dispatch) {
    super(executor);
    this.#dispatch = dispatch;
  }

  static get [Symbol.species]() {
    return Promise;
  }

  /** @param {any} [fulfilled] @param {any} [rejected] @returns {any} */
  then(fulfilled, rejected) {
    if (#dispatch in this) this.#dispatch?.look();
    return then(this, fulfilled, rejected);
  }
}

/**
 * @typedef {object} CallOptions
 * @property {boolean} [step]
 * @property {boolean} [looked] nobody has to look at it
 * @property {(value: any) => any} [convert] makes what the program gets of what the host answered
 */

/** The calls of one attempt. */
export class Calls {
  /**
   * @param {Attempt} attempt
   * @param {number} argumentBytes
   * @param {(className: string, path: string) => void} warn
   */
  constructor(attempt, argumentBytes, warn) {
    this.attempt = attempt;
    this.argumentBytes = argumentBytes;
    this.warn = warn;
    /** @type {any} Calls that nobody has looked at and that have not succeeded, in order */
    this.unlooked = new SafeSet();
    /** @type {any} WeakMap of error → Origin */
    this.origins = new SafeWeakMap();
  }

  /**
   * @param {string} path
   * @param {any} argument
   * @param {CallOptions} [options]
   * @returns {any} a promise
   */
  call(path, argument, options = NO_OPTIONS) {
    return this.start(path, argument, options).promise;
  }

  /** @param {string} path @param {any} argument @param {CallOptions} options */
  start(path, argument, options) {
    if (this.attempt.ended) return { dispatch: null, promise: never() };
    const dispatch = new Dispatch(this, path, options);
    const promise = new CallPromise((resolve, reject) => {
      dispatch.resolve = resolve;
      dispatch.reject = reject;
    }, dispatch);
    try {
      const value = argument === undefined ? {} : argument;
      const args = encode(value, this.argumentBytes, this.warn);
      if (typeof args === "string") this.attempt.issue(dispatch, args);
      else this.issueLater(dispatch, args);
    } catch (thrown) {
      this.refuse(dispatch, thrown);
    }
    return { dispatch, promise };
  }

  /** Promises stand in the argument. @param {Dispatch} dispatch @param {Promise<string>} args */
  async issueLater(dispatch, args) {
    let encoded;
    try {
      encoded = await args;
    } catch (thrown) {
      this.refuse(dispatch, thrown);
      return;
    }
    this.attempt.issue(dispatch, encoded);
  }

  /** A call with more than one argument. @param {string} path @param {number} count */
  refuseArguments(path, count) {
    const dispatch = new Dispatch(this, path, NO_OPTIONS);
    const said = `${path} takes one argument, an object with everything in it; it was called with ${count}`;
    const promise = new CallPromise((_, reject) => {
      dispatch.reject = reject;
    }, dispatch);
    dispatch.fail(this.fault(said, dispatch, "tool_error"));
    return promise;
  }

  /** @param {Dispatch} dispatch @param {any} thrown */
  refuse(dispatch, thrown) {
    const { path } = dispatch;
    if (Refusal.is(thrown)) {
      const why = explain(thrown, "the argument");
      dispatch.fail(this.fault(`${path} was not called: ${why}`, dispatch, "serialization_error"));
    } else if (Large.is(thrown)) {
      const limit = this.argumentBytes;
      const said = `${path} was not called: its argument is over the limit of ${limit} bytes`;
      dispatch.fail(this.fault(said, dispatch, "limit_exceeded"));
    } else {
      dispatch.fail(thrown); // What a promise inside the argument rejected with.
    }
  }

  /** @param {string} message @param {Dispatch} dispatch @param {string} fault */
  fault(message, dispatch, fault) {
    const error = new ToolError(message);
    setOwn(error, "tool", dispatch.path);
    this.origins.set(error, { n: null, path: dispatch.path, fault });
    return error;
  }

  /** The error of a reply, in this realm. @param {any} of @param {Dispatch} dispatch @param {boolean} tagged */
  errorOf(of, dispatch, tagged) {
    const message = own(of, "message");
    const said =
      typeof message === "string" && message !== ""
        ? message
        : `${dispatch.path} failed without a message`;
    const error = new ToolError(said);
    const name = own(of, "name");
    if (typeof name === "string" && name !== "" && name !== "Error") {
      setOwn(error, "name", name, false);
    }
    if (!dispatch.step) setOwn(error, "tool", own(of, "tool") ?? dispatch.path);
    const code = own(of, "code");
    if (code !== undefined && code !== null) setOwn(error, "code", code);
    const data = own(of, "data");
    if (data !== undefined) setOwn(error, "data", tagged ? decode(data) : data);
    if (!dispatch.step) {
      this.origins.set(error, { n: dispatch.n, path: dispatch.path, fault: null });
    }
    return error;
  }

  /** Where an error came from, if it is one of ours. @param {any} error @returns {Origin | undefined} */
  originOf(error) {
    return typeof error === "object" && error !== null ? this.origins.get(error) : undefined;
  }

  /** The first call that nobody looked at and that is open or failed; there must be one. @returns {Dispatch} */
  firstUnlooked() {
    /** @type {any} */
    let first = null;
    this.unlooked.forEach((/** @type {Dispatch} */ dispatch) => {
      first ??= dispatch;
    });
    return first;
  }

  /**
   * The namespace: each part is a function that calls the tool of that name. Parts are made when they are
   * asked for, so nothing has to be known of the tools; the host looks names up.
   */
  namespace() {
    const root = new ToolProxy(freeze(create(null)), new Traps(this, ""));
    markOurs(root, "the namespace of tools");
    return root;
  }

  /** @param {string} path */
  tool(path) {
    // An arrow has no `prototype`, whose value a proxy would have to keep.
    const tool = new ToolProxy(() => {}, /** @type {any} */ (new Traps(this, path)));
    markOurs(tool, `the tool ${path}`);
    return tool;
  }
}

/** @type {CallOptions} */
const NO_OPTIONS = /** @type {any} */ ({ __proto__: null });

/** How a part of the namespace answers: the traps of its proxy. */
class Traps {
  /** @param {Calls} calls @param {string} path */
  constructor(calls, path) {
    this.calls = calls;
    this.path = path;
    /** @type {any} Those that were asked for, by name */
    this.parts = null;
  }

  /** @param {any} _ @param {string | symbol} name */
  get(_, name) {
    const { path } = this;
    if (typeof name === "symbol") {
      return name === toPrimitive ? () => (path === "" ? "[tools]" : `[tool ${path}]`) : undefined;
    }
    // Looked for by `await` and by JSON.stringify; no tool may have such a part.
    if (name === "then" || name === "toJSON") return undefined;
    this.parts ??= new SafeMap();
    let part = this.parts.get(name);
    if (part === undefined) {
      part = this.calls.tool(path === "" ? name : `${path}.${name}`);
      this.parts.set(name, part);
    }
    return part;
  }

  /** @param {any} _ @param {any} __ @param {any[]} args */
  apply(_, __, args) {
    const { calls, path } = this;
    return args.length > 1 ? calls.refuseArguments(path, args.length) : calls.call(path, args[0]);
  }

  /** @returns {never} */
  construct() {
    throw new NotAConstructor(`${this.path} is a tool: call it without new`);
  }

  set() {
    return false;
  }

  defineProperty() {
    return false;
  }

  deleteProperty() {
    return false;
  }

  has() {
    return false;
  }

  /** @returns {string[]} */
  ownKeys() {
    return [];
  }

  getOwnPropertyDescriptor() {
    return undefined;
  }

  getPrototypeOf() {
    return null;
  }

  setPrototypeOf() {
    return false;
  }
}

// A trap that is not here must not be looked for in `Object.prototype`.
detach(Traps);
