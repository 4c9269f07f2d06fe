// The object of the ticks, as these tests need it: a clock, a budget, and the same error for ever
// once the budget is spent. The sandbox's own is part of its harness.

/**
 * @param {{ budgetMs: number, clock?: () => number, later?: (f: () => void, ms: number) => unknown }} options
 */
export function createGuard({ budgetMs, clock = Date.now, later = setTimeout }) {
  const MOST = 1023; // units between two looks at the clock
  const timedOut = new Error(`Execution timed out after ${budgetMs}ms`);
  const reference = clock();
  /** @type {Error | null} */
  let failure = null;
  let units = 15;
  let lookedAt = 0;
  let turnAt = 0;
  const guard = {
    n: 0,
    t() {
      if (failure) {
        guard.n = -1;
        throw failure;
      }
      const now = clock();
      if (turnAt === 0) {
        turnAt = now;
        later(() => {
          turnAt = 0;
        }, 0);
      }
      if (now - reference >= budgetMs) {
        failure = timedOut;
        guard.n = -1;
        throw failure;
      }
      units = now - lookedAt > 1 ? units >> 2 : Math.min(MOST, units * 2 + 1);
      lookedAt = now;
      guard.n = units;
    },
    /** @param {number} spent */
    c(spent) {
      if ((guard.n -= spent) < 0) guard.t();
      return true;
    },
  };
  return { guard, failed: () => failure !== null };
}
