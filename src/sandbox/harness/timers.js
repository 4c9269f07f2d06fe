// The timers of a program: entries of a map, delivered as events by the attempt.
//
// Ids are numbers in order of creation, the program's own, so that clearing every id reaches nothing of
// the harness. An interval's next due time counts from its firing. A timer is due in program time; a sleep
// that parks is due at a date, since program time stands still while the run is parked.

import { SafeMap, apply, max, toNumber, trunc } from "./intrinsics.js";

const NotAFunction = TypeError;

/** @typedef {{ due: number, every: number, run: Function, args: any[], parks: boolean }} Timer */

/** The date at the turn of a sleep is its due date, less what whole milliseconds and a drift leave out. */
const DRIFT_MS = 2;

/**
 * @param {{ now: () => number, dateAt: (at: number) => number }} clock
 * @param {(error: any) => void} failed told of what a callback throws
 */
export function createTimers({ now, dateAt }, failed) {
  /** @type {any} Map of number → Timer, in order of creation */
  const timers = new SafeMap();
  let count = 0;

  /**
   * @param {any} run @param {any} ms @param {boolean} repeat @param {any[]} args
   * @returns {number}
   */
  function add(run, ms, repeat, args) {
    if (typeof run !== "function") throw new NotAFunction("a timer takes a function");
    const delay = max(repeat ? 1 : 0, trunc(toNumber(ms)) || 0);
    const id = ++count;
    timers.set(id, { due: now() + delay, every: repeat ? delay : 0, run, args, parks: false });
    return id;
  }

  /** A sleep that parks. @param {Function} run @param {number} until Unix ms */
  function addSleep(run, until) {
    timers.set(++count, { due: until, every: 0, run, args: [], parks: true });
  }

  /** The program's own only. @param {any} id */
  function clear(id) {
    const number = typeof id === "number" ? id : toNumber(id);
    if (number > 0) timers.delete(number);
  }

  /**
   * A timer of the harness's, which is due when it is summoned; in a replay when the record says so.
   *
   * @param {number} id below 0
   * @param {() => void} run
   */
  function reserve(id, run) {
    timers.set(id, { due: Infinity, every: 0, run, args: [], parks: false });
  }

  /** @param {number} id */
  function summon(id) {
    const timer = timers.get(id);
    if (timer !== undefined) timer.due = now();
  }

  /** Of the timers, or of the sleeps, what is due first; of equals the one made first. @param {boolean} parks */
  function first(parks) {
    if (timers.size === 0) return null;
    /** @type {{ id: number, due: number } | null} */
    let first = null;
    timers.forEach((/** @type {Timer} */ timer, /** @type {number} */ id) => {
      if (timer.parks !== parks) return;
      if (first === null || timer.due < first.due) first = { id, due: timer.due };
    });
    return /** @type {{ id: number, due: number } | null} */ (first);
  }

  /**
   * Runs a timer's callback. False if there is no such timer.
   *
   * @param {number} id
   * @returns {boolean}
   */
  function fire(id) {
    const timer = timers.get(id);
    if (timer === undefined) return false;
    if (timer.every > 0) timer.due = now() + timer.every;
    else timers.delete(id);
    try {
      apply(timer.run, undefined, timer.args);
    } catch (error) {
      failed(error);
    }
    return true;
  }

  return {
    add,
    addSleep,
    clear,
    reserve,
    summon,
    /** The timer that is due first, in program time. */
    next: () => first(false),
    /** The sleep that is due first, as a date. */
    nextSleep: () => first(true),
    fire,
    /** Whether a timer or a sleep exists that is due by then. @param {number} id @param {number} at */
    isDue(id, at) {
      const timer = timers.get(id);
      if (timer === undefined) return false;
      if (id < 0) return true; // As the record says.
      return timer.parks ? timer.due <= dateAt(at) + DRIFT_MS : timer.due <= at;
    },
    size: () => timers.size,
  };
}
