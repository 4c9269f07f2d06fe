// The ambient names of a program: what `prepare` destructures, and what `holdfast:runtime` exports.
//
// One object an invocation; nothing in it is shared with another.

import { encode, errorName, explain, Large, Refusal, quote } from "./codec.js";
import { codeOf } from "./errors.js";
import { durationMs } from "./duration.js";
import { createFetch } from "./fetch.js";
import { Promise, ceil, freeze } from "./intrinsics.js";
import { field } from "./outbox.js";

/**
 * @param {object} of
 * @param {import("./attempt.js").Attempt} of.attempt
 * @param {import("./dispatch.js").Calls} of.calls
 * @param {any} of.console
 * @param {any} of.params
 * @param {any} of.run
 * @param {ReturnType<typeof import("./stop.js").createStop> | null} of.stop of a service
 * @param {number | undefined} of.parkMs the longest sleep that is the program's own time; undefined: all are
 */
export function createRuntime({ attempt, calls, console, params, run, stop, parkMs }) {
  const tools = calls.namespace();
  const call = (/** @type {string} */ path, /** @type {any} */ argument) =>
    calls.call(path, argument);

  const setTimeout = (/** @type {any} */ fn, /** @type {any} */ ms, /** @type {any[]} */ ...args) =>
    attempt.addTimer(fn, ms, false, args);
  const setInterval = (
    /** @type {any} */ fn,
    /** @type {any} */ ms,
    /** @type {any[]} */ ...args
  ) => attempt.addTimer(fn, ms, true, args);
  const clear = (/** @type {any} */ id) => attempt.timers.clear(id);

  /** @param {any} duration @returns {Promise<void>} */
  const sleep = (duration) =>
    new Promise((resolve) => {
      const date = attempt.clock.date();
      const ms = durationMs(duration, date);
      if (stop !== null) stop.sleep(ms, () => resolve());
      else if (parkMs !== undefined && ms > parkMs) attempt.addSleep(resolve, date + ceil(ms));
      else attempt.addTimer(resolve, ms, false, []);
    });

  /**
   * Records what is not deterministic: in a replay `fn` runs again, so that what it does keeps its numbers,
   * and its result is thrown away for the recorded one.
   *
   * @param {any} name
   * @param {any} fn
   */
  function step(name, fn) {
    if (typeof name !== "string" || typeof fn !== "function") {
      throw new NotAStep("step takes a name and a function");
    }
    const { dispatch, promise } = calls.start("step", { name }, STEP);
    if (dispatch !== null && dispatch.n >= 0) perform(dispatch, fn);
    return promise;
  }

  /** @param {any} dispatch @param {Function} fn */
  async function perform(dispatch, fn) {
    let result;
    try {
      const value = await encode(await fn(), calls.argumentBytes, calls.warn);
      result = `{"value":${value}}`;
    } catch (thrown) {
      result = `{"error":${errorJson(thrown)}}`;
    }
    attempt.stepped(dispatch, result);
  }

  return freeze({
    tools,
    params,
    run: freeze(run),
    console,
    setTimeout,
    setInterval,
    clearTimeout: clear,
    clearInterval: clear,
    sleep,
    step,
    emit: (/** @type {any} */ value) => calls.call("emit", value, LOOKED),
    storage: tools.storage,
    fetch: createFetch(attempt, calls),
    packages: freeze({
      invoke: (/** @type {any} */ name, /** @type {any} */ given, /** @type {any} */ options) =>
        call("packages.invoke", {
          name,
          params: given === undefined ? {} : given,
          options: options ?? {},
        }),
    }),
    workflows: freeze({
      create: (/** @type {any} */ workflow) => call("workflows.create", workflow),
      get: (/** @type {any} */ id) => call("workflows.get", { id }),
      cancel: (/** @type {any} */ id) => call("workflows.cancel", { id }),
    }),
  });
}

const NotAStep = TypeError;
const STEP = /** @type {any} */ ({ __proto__: null, step: true });
/** Nobody has to await an `emit`. */
const LOOKED = /** @type {any} */ ({ __proto__: null, looked: true });

/** @param {any} thrown */
function errorJson(thrown) {
  if (Refusal.is(thrown)) {
    return `{"name":"TypeError","message":${quote(`the step's result is no data: ${explain(thrown, "it")}`)}}`;
  }
  if (Large.is(thrown)) return '{"name":"RangeError","message":"the step\'s result is too large"}';
  let message;
  try {
    message =
      typeof thrown === "object" && thrown !== null ? `${thrown.message ?? ""}` : `${thrown}`;
  } catch {
    message = "";
  }
  const name = typeof thrown === "object" && thrown !== null ? errorName(thrown) : "Error";
  return `{"name":${quote(name)},"message":${quote(message)}${field("code", codeOf(thrown))}}`;
}
