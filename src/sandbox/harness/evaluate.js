// One invocation from its text to the text of its end. Nothing here knows the platform's modules, so that tests
// run it in Node with a clock and an event loop of their own.

import { Attempt } from "./attempt.js";
import { Large, Refusal, decode, encode, explain, isTagged, quote } from "./codec.js";
import { createConsole } from "./console.js";
import { Calls } from "./dispatch.js";
import { createRenderer, placeOf } from "./errors.js";
import { show } from "./format.js";
import { replaceGlobals } from "./globals.js";
import { createGuard } from "./guard.js";
import { SafeMap, clearTimeout, now, own, parse, setTimeout } from "./intrinsics.js";
import { createLogs } from "./logs.js";
import { field } from "./outbox.js";
import { createRandom } from "./random.js";
import { createRuntime } from "./runtime.js";
import { createStop } from "./stop.js";
import { current } from "./turns.js";

/** @typedef {import("./attempt.js").Native} Native */
/** @typedef {{ default: (guard: any, runtime: any) => (...args: any[]) => any }} Program */

/** Characters of a shown value in an error's text; the text is cut to 8,192 bytes anyway. */
const SHOWN = 8192;
/** Warnings that an answer carries; more say nothing new. */
const MAX_WARNINGS = 20;

/** @type {Native} */
const platform = {
  now,
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (handle) => clearTimeout(handle),
  turn: (run) => void setTimeout(run, 0),
};

let replaced = false;

/** Once an isolate: the globals, and what nobody handles. */
function prepareRealm() {
  if (replaced) return;
  replaced = true;
  globalThis.addEventListener?.("unhandledrejection", (/** @type {any} */ event) => {
    event.preventDefault();
    current()?.unhandled(event.reason);
  });
  replaceGlobals(globalThis);
}

export class Evaluation {
  /** @param {any} invocation @param {boolean} tagged @param {(message: string) => Promise<string>} host @param {Native} native */
  constructor(invocation, tagged, host, native) {
    const { limits } = invocation;
    const journal = own(invocation, "journal");
    this.limits = limits;
    this.invocation = invocation;
    this.logs = createLogs(limits, journal === null || journal === undefined ? 0 : journal.logs);
    /** @type {any} Texts, once each */
    this.warnings = new SafeMap();
    this.guard = createGuard({
      budgetMs: invocation.budgetMs,
      now: native.now,
      later: native.setTimeout,
      cancel: native.clearTimeout,
      expired: (asleep) => this.attempt.expired(asleep),
    });
    const attempt = new Attempt({
      invocation,
      tagged,
      host,
      native,
      logs: this.logs,
      guard: this.guard,
      timerFailed: (error) =>
        this.log("error", `Uncaught in a timer: ${this.renderer.render(error)}`),
      warnings: () => (this.warnings.size === 0 ? "" : this.warningsJson()),
    });
    this.attempt = attempt;
    this.calls = new Calls(attempt, limits.argumentBytes, (name, path) =>
      this.warnOf("an argument", name, path),
    );
    /** @type {ReturnType<typeof createRenderer> | null} */
    this.rendererMade = null;
    const params = own(invocation, "params");
    /** @type {ReturnType<typeof createRandom> | null} */
    let random = null;
    const console = createConsole(
      (level, line) => this.log(level, line),
      attempt.clock.now,
      limits.logLineBytes,
    );
    const service = own(invocation, "service");
    this.stop = service === null || service === undefined ? null : createStop(attempt);
    const run = { id: invocation.runId, surface: invocation.surface };
    this.runtime = createRuntime({
      attempt,
      calls: this.calls,
      console,
      params: tagged ? decode(params) : params,
      run: this.stop === null ? run : { ...run, ...service, signal: this.stop.signal },
      stop: this.stop,
      parkMs: own(invocation, "parkMs") ?? undefined,
    });
    const { runtime } = this;
    attempt.ambient = {
      setTimeout: runtime.setTimeout,
      setInterval: runtime.setInterval,
      clearTimeout: runtime.clearTimeout,
      clearInterval: runtime.clearInterval,
      fetch: runtime.fetch,
      console,
      date: attempt.clock.date,
      now: attempt.clock.now,
      origin: attempt.clock.origin,
      get random() {
        return (random ??= createRandom(invocation.seed));
      },
    };
    attempt.unhandled = (/** @type {any} */ reason) => {
      if (reason === this.guard.failure) return;
      this.log("error", `Unhandled rejection: ${this.renderer.render(reason)}`);
    };
  }

  /** Made for the first error: most runs have none. */
  get renderer() {
    return (this.rendererMade ??= createRenderer(
      (value) => show(value, SHOWN, false),
      (error) => this.calls.originOf(error)?.path,
    ));
  }

  /** @param {string} level @param {string} line */
  log(level, line) {
    if (!this.attempt.ended) this.logs.add(level, line, this.attempt.clock.now());
  }

  /** @param {string} whole @param {string} name @param {string} path */
  warnOf(whole, name, path) {
    if (this.warnings.size >= MAX_WARNINGS) return;
    const what = path === "" ? whole : `${path} of ${whole}`;
    this.warnings.set(
      `${what} was an instance of ${name}; only its own enumerable properties were kept`,
      true,
    );
  }

  warningsJson() {
    let out = "";
    this.warnings.forEach((/** @type {boolean} */ _, /** @type {string} */ warning) => {
      out += out === "" ? quote(warning) : `,${quote(warning)}`;
    });
    return out;
  }

  /** @param {Program["default"]} factory @returns {Promise<string>} */
  run(factory) {
    return this.attempt.run(() => {
      this.stop?.listen();
      this.perform(factory);
    });
  }

  /** @param {Program["default"]} factory */
  async perform(factory) {
    /** @type {() => string} */
    let outcome;
    try {
      const program = factory(this.guard.ticks, this.runtime);
      const name = own(this.invocation, "export");
      const value = await (name === null || name === undefined ? program() : program(name));
      const warn = (/** @type {string} */ of, /** @type {string} */ path) =>
        this.warnOf("the result", of, path);
      const text = await encode(value, this.limits.resultBytes, warn);
      outcome = () =>
        this.calls.unlooked.size === 0 ? `"end":"finished","value":${text}` : this.unlooked();
    } catch (thrown) {
      outcome = this.failed(thrown);
    }
    this.attempt.settled(outcome);
  }

  /** The end of a program that threw, read at once: what was thrown may change. @param {any} thrown */
  failed(thrown) {
    let end =
      '"end":"threw","error":{"name":"Error","message":"","causes":[]},"text":"an error that cannot be shown"';
    try {
      end = this.failure(thrown);
    } catch {
      // Reading it ran code of the program's, which threw. The run has failed all the same.
    }
    return () => end;
  }

  /** @param {any} thrown */
  failure(thrown) {
    if (Refusal.is(thrown)) {
      const text = explain(thrown, "the result");
      return `"end":"unserialisable","path":${quote(thrown.path)},"type":${quote(thrown.refused)},"text":${quote(text)}`;
    }
    if (Large.is(thrown)) {
      return `"end":"too_large","what":"result","bytes":${thrown.bytes},"limit":${this.limits.resultBytes}`;
    }
    const origin = this.calls.originOf(thrown);
    const place = placeOf(thrown);
    const described = describedJson(this.renderer.describe(thrown));
    const text = quote(this.renderer.render(thrown));
    const fault = thrown === this.guard.failure ? "timed_out" : (origin?.fault ?? null);
    return (
      `"end":"threw","error":${described},"text":${text},"line":${place?.line ?? null},` +
      `"module":${place === null ? null : quote(place.module)},"column":${place?.column ?? null},"call":${origin?.n ?? null},` +
      `"fault":${fault === null ? null : quote(fault)}${field("tool", origin?.path)}`
    );
  }

  /** The end of a program that left a call alone which is open or has failed. */
  unlooked() {
    const dispatch = this.calls.firstUnlooked();
    const head = `"end":"unlooked","call":${dispatch.n < 0 ? null : dispatch.n},"path":${quote(dispatch.path)}`;
    if (!dispatch.failed) return head;
    const fault = this.calls.originOf(dispatch.error)?.fault;
    return `${head}${field("text", this.renderer.render(dispatch.error))}${field("fault", fault)}`;
  }
}

/**
 * @param {string} text the invocation
 * @param {(message: string) => Promise<string>} host
 * @param {() => Promise<Program>} load
 * @param {Native} [native]
 * @returns {Promise<string>}
 */
export async function evaluate(text, host, load, native = platform) {
  const invocation = parse(text);
  prepareRealm();
  const program = await load();
  // Awaited: returning a promise would ask it for the program's `then`.
  return await new Evaluation(invocation, isTagged(text), host, native).run(program.default);
}

/** @param {import("./errors.js").Described} error @returns {string} */
function describedJson({ name, message, code, causes, errors }) {
  const parts = errors === undefined ? "" : `,"errors":[${listJson(errors)}]`;
  return `{"name":${quote(name)},"message":${quote(message)}${field("code", code)},"causes":[${listJson(causes)}]${parts}}`;
}

/** @param {any} list of Described */
function listJson(list) {
  let out = "";
  for (let i = 0; i < list.length; i++) out += (i > 0 ? "," : "") + describedJson(list[i]);
  return out;
}
