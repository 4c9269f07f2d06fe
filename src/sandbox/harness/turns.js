// Whose turn it is in this isolate.
//
// A turn is what a program does on one event: the delivery and all microtasks that follow. While a turn is
// open nobody else delivers, so the attempt named here is the one whose code runs, and the replaced globals
// (`Date`, `Math.random`, `setTimeout`, …) can answer from it. That is what lets one isolate serve several
// invocations of a package.

/** @type {any} */
let holder = null;

/** The attempt whose turn it is, or was last; null before any. */
export const current = () => holder;

/** The turn becomes `attempt`'s. @param {{ turnOpen: boolean }} attempt */
export const take = (attempt) => {
  holder = attempt;
};

/**
 * Somebody else whose turn may still be running, or null.
 *
 * @param {{ turnOpen: boolean }} attempt
 * @returns {{ turnOpen: boolean } | null}
 */
export const other = (attempt) =>
  holder !== null && holder !== attempt && holder.turnOpen ? holder : null;
