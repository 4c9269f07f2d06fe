// Replay: a recorded order of events, delivered again.
//
// One event a turn, without asking the host and without waiting for time to pass. When the turn of an event
// has come, everything the program did on the events before it has been done; so a recorded call that was not
// issued by then, or one more than recorded, is a divergence and no reason to wait. The one wait is for the
// platform to finish an operation whose settlement is recorded.

import { PATIENCE } from "./attempt.js";
import { Promise, own } from "./intrinsics.js";

/** A progress note at most this often: the host grants a replay the compute that the record had. */
const PROGRESS_MS = 1000;

/** @typedef {import("./attempt.js").Attempt} Attempt */

/** @param {Attempt} attempt */
export async function replay(attempt) {
  const { recorded, recordedCalls, native } = attempt;
  const boundary = () => new Promise((resolve) => native.turn(() => resolve(undefined)));
  let notedAt = native.now();
  let expected = 0;

  for (let i = attempt.delivered; i < recorded.length; i++) {
    const event = recorded[i];
    await boundary();
    if (attempt.ended) return;
    if (attempt.outcome !== null) {
      attempt.diverged("ended early", attempt.issued);
      return;
    }
    while (expected < recordedCalls.length && recordedCalls[expected].at <= attempt.delivered) {
      expected++;
    }
    if (!(await issued(expected))) return;
    if (event[0] === "n" && attempt.operations.get(event[1]) === null) {
      await operated(event[1]);
      await boundary();
      if (attempt.ended) return;
    }
    attempt.openTurn();
    attempt.delivered++;
    attempt.clock.replayed(event[2]);
    if (!deliver(attempt, event)) {
      attempt.diverged("missing", i, undefined, event[0]);
      return;
    }
    if (native.now() - notedAt >= PROGRESS_MS) {
      notedAt = native.now();
      attempt.tell(`"t":"note","delivered":${attempt.delivered}`);
    }
  }
  await boundary();
  if (!(await issued(recordedCalls.length))) return;
  if (attempt.outcome !== null) attempt.stop(attempt.outcome());
  else attempt.goLive();

  /**
   * Whether as many calls have been issued; else the attempt has ended.
   *
   * @param {number} calls
   */
  async function issued(calls) {
    for (let i = 0; i < PATIENCE && attempt.issued < calls && !attempt.ended; i++) await boundary();
    if (attempt.issued < calls) {
      attempt.diverged("missing", attempt.issued);
    }
    return !attempt.ended;
  }

  /** @param {number} id */
  function operated(id) {
    return new Promise((resolve) => {
      attempt.operated = (done) => {
        if (done !== id) return;
        attempt.operated = null;
        resolve(undefined);
      };
    });
  }
}

/**
 * Delivers one recorded event. False if there is nothing to deliver it to.
 *
 * @param {Attempt} attempt
 * @param {[kind: string, id: number, at: number]} event
 */
function deliver(attempt, event) {
  const id = event[1];
  switch (event[0]) {
    case "s": {
      const call = attempt.open.get(id);
      const parsed =
        id < attempt.recordedCalls.length ? own(attempt.recordedCalls[id], "reply") : undefined;
      if (call === undefined || parsed === undefined) return false;
      attempt.guard.fresh();
      attempt.settle(call, { parsed, tagged: attempt.tagged });
      return true;
    }
    case "t":
      return attempt.timers.isDue(id, event[2]) && attempt.timers.fire(id);
    case "n":
      return attempt.settleOperation(id);
    default:
      attempt.clock.jump(id);
      return true;
  }
}
