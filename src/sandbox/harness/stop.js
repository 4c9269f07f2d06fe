// How a service hears that it is to end: `run.signal`.
//
// The host answers one message when it is time, and what the program sees of it is a timer that fires, so
// that it stands in the record between the other events and a replay delivers it in the same place. The
// timers have ids below those of the program's own, which can neither see nor clear them.

import { SafeMap, getter, own, uncurry } from "./intrinsics.js";
import { readReply } from "./outbox.js";

/** What the host may say: the timer that fires for it, and what `run.signal.reason` says. */
const REASONS = /** @type {any} */ ({
  __proto__: null,
  asked: { id: -1, message: "the service was asked to stop" },
  over: { id: -2, message: "the stretch is over; the next one begins by itself" },
});

const Controller = AbortController;
const Failure = DOMException;
const abort = uncurry(Controller.prototype.abort);
const signalOf = getter(Controller.prototype, "signal");

/**
 * @param {import("./attempt.js").Attempt} attempt
 */
export function createStop(attempt) {
  const controller = new Controller();
  /** @type {any} Sleeps by the number of their timer: they end at once */
  const sleeps = new SafeMap();
  let stopped = false;

  const fired = (/** @type {any} */ message) => {
    if (stopped) return;
    stopped = true;
    abort(controller, new Failure(message, "AbortError"));
    sleeps.forEach((/** @type {() => void} */ wake, /** @type {number} */ id) => {
      attempt.timers.clear(id);
      wake();
    });
    sleeps.clear();
  };
  attempt.timers.reserve(REASONS.asked.id, () => fired(REASONS.asked.message));
  attempt.timers.reserve(REASONS.over.id, () => fired(REASONS.over.message));

  return {
    signal: signalOf(controller),

    /** Asks the host; it answers when it is time, or never. */
    async listen() {
      let said;
      try {
        said = own(readReply(await attempt.outbox.send('"t":"stop"')).parsed, "stop");
      } catch (error) {
        attempt.broke(error);
        return;
      }
      const reason = typeof said === "string" ? REASONS[said] : undefined;
      if (reason !== undefined) attempt.summon(reason.id);
    },

    /**
     * A sleep ends when the service is to end.
     *
     * @param {number} ms
     * @param {() => void} wake
     */
    sleep(ms, wake) {
      const id = attempt.addTimer(
        () => {
          sleeps.delete(id);
          wake();
        },
        ms,
        false,
        [],
      );
      if (!stopped) sleeps.set(id, wake);
    },
  };
}
