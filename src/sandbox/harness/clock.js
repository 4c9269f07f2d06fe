// Program time: the milliseconds a program has had since its run began.
//
// It stands still within a turn, as the platform's clock does in production between I/O, and while only
// people are waited for. The date is program time plus an offset; where the two clocks drift apart
// (parked, held, set by somebody) the offset jumps, in a recorded place.

import { abs, floor, max } from "./intrinsics.js";

/** @param {() => number} native the platform's clock, Unix ms */
export function createClock(native) {
  /** Program time of this turn, and the wall time that belongs to program time 0. */
  let time = 0;
  let offset = 0;
  let origin = 0;
  /** Native time that belongs to program time 0, parked and held time left out. */
  let base = 0;
  /** @type {number | null} */
  let frozenAt = null;

  return {
    now: () => time,
    date: () => time + offset,
    /** The date of a moment in program time. @param {number} at */
    dateAt: (at) => at + offset,
    /** The date at the start of the run. */
    origin: () => origin,
    /** Program time that has passed by now; it becomes `now()` with the next turn. */
    passed: () => (frozenAt ?? native()) - base,
    /** Native time as program time. @param {number} at */
    at: (at) => at - base,
    /** Native time of a moment in program time. @param {number} due */
    native: (due) => due + base,

    /** Program time goes on from here: live from the start, or after a replay. */
    resume() {
      base = native() - time;
    },
    freeze() {
      frozenAt ??= native();
    },
    thaw() {
      if (frozenAt === null) return;
      base += native() - frozenAt;
      frozenAt = null;
    },
    frozen: () => frozenAt !== null,

    /**
     * A live turn begins. Answers the offset where the date jumps, else null.
     *
     * @param {number} passed
     * @returns {number | null}
     */
    turn(passed) {
      time = max(time, floor(passed));
      const wall = native() - time;
      if (abs(wall - offset) <= 1) return null;
      offset = wall;
      return wall;
    },
    /** A run begins: its date. */
    start() {
      offset = native();
      origin = offset;
      return offset;
    },
    /** A recorded turn begins. @param {number} at */
    replayed(at) {
      time = at;
    },
    /** A recorded jump of the date. @param {number} to */
    jump(to) {
      offset = to;
      if (origin === 0) origin = to;
    },
  };
}
