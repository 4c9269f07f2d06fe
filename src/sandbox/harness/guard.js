// The guard: the budget kept in the sandbox, for programs that never yield and for those that do.
//
// `prepare` puts ticks into a program: `--guard.n<0&&guard.t()`. The countdown is cheap; when it is used
// up, `t` looks at the clock, and once the budget is spent every tick throws the same error, so that
// nothing of a program runs any more. What the program does with the error does not matter: the attempt
// has ended with the first throw.
//
// The budget is continuous autonomous compute. It stands while a dispatch is in flight, and each return
// grants a fresh one. A program that holds the thread keeps the reply out, so in flight the reference is
// the first look of this turn of the event loop.
//
// This is the polite end, for logs that are whole and an exact error. The authority is the host's
// watchdog. In production the clock stands still while a program computes; there `limits.cpuMs` ends it.

const TimedOut = Error;

/** Units between two looks at the clock, at most; a look costs about as much as 100 units. */
const MOST_UNITS = 1023;
/** A look that took longer than this divides the units: a unit may be a whole `JSON.parse`. */
const LATE_MS = 1;

/**
 * @param {object} of
 * @param {number} of.budgetMs
 * @param {() => number} of.now Unix ms
 * @param {(run: () => void, ms: number) => any} of.later
 * @param {(handle: any) => void} of.cancel
 * @param {(asleep: boolean) => void} of.expired told once, when the budget is spent; `asleep`:
 *   it was found between two turns, when nothing of the program ran
 */
export function createGuard({ budgetMs, now, later, cancel, expired }) {
  // Made before the program runs: it can set `Error.prepareStackTrace`.
  const failure = new TimedOut(`Execution timed out after ${budgetMs}ms`);
  let spent = false;
  let units = 15;
  let lookedAt = 0;
  /** When this turn of the event loop was first looked at; 0: not yet. */
  let turnAt = 0;
  let reference = 0;
  let inFlight = 0;
  /** @type {any} The timer of the polite end, while one is armed. */
  let deadline = null;
  let over = false;

  const ticks = {
    /** Units until the next look. */
    n: 0,
    t() {
      if (spent) {
        ticks.n = -1;
        throw failure;
      }
      const at = now();
      if (turnAt === 0) {
        turnAt = at;
        later(() => {
          turnAt = 0;
        }, 0);
      }
      if (at - (inFlight > 0 ? turnAt : reference) >= budgetMs) {
        expire(false);
        throw failure;
      }
      units = at - lookedAt > LATE_MS ? units >> 2 : units * 2 + 1;
      if (units > MOST_UNITS) units = MOST_UNITS;
      lookedAt = at;
      ticks.n = units;
    },
    /** A chunk of `k` units of a loop is used up. @param {number} k */
    c(k) {
      if ((ticks.n -= k) < 0) ticks.t();
      return true;
    },
  };

  /** @param {boolean} asleep */
  function expire(asleep) {
    if (spent || over) return;
    spent = true;
    ticks.n = -1;
    expired(asleep);
  }

  /** One timer for many dispatches: it looks when it fires, and is armed anew where it came too early. */
  function arm() {
    if (deadline !== null || over) return;
    const left = reference + budgetMs - now();
    deadline = later(
      () => {
        deadline = null;
        if (inFlight > 0 || over) return;
        if (now() - reference >= budgetMs) expire(true);
        else arm();
      },
      left > 0 ? left : 0,
    );
  }

  return {
    ticks,
    /** The error of a spent budget. */
    failure,
    start() {
      reference = now();
      arm();
    },
    dispatched() {
      inFlight++;
    },
    returned() {
      inFlight--;
      fresh();
    },
    /** A recorded dispatch returned: compute that was granted before is granted again. */
    fresh,
    inFlight: () => inFlight,
    /** The attempt has ended: what still runs of the program throws at its next tick. */
    stop() {
      if (over) return;
      over = true;
      spent = true;
      ticks.n = -1;
      if (deadline !== null) cancel(deadline);
    },
  };

  function fresh() {
    reference = now();
    turnAt = 0;
    if (inFlight === 0) arm();
  }
}
