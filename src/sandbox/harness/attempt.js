// An attempt: one program, moved event by event.
//
// A program moves only when an event is delivered to it: a dispatch settled (`s`), a timer fired (`t`), a
// platform operation settled (`n`); a jump of the date (`c`) stands before the event it belongs to. One
// event a turn: the next is delivered once the microtasks of the last ran dry. So the state after k events
// depends on the program, its parameters, the seed and these events in this order, and on nothing else.
// The order is written down and sent with the next message; `replay.js` delivers a recorded order again.
//
// Nothing here is believed by the host: it answers a recorded dispatch from its record whatever this file
// says.

import { createClock } from "./clock.js";
import { placeIn, stackOf } from "./errors.js";
import { hashCall } from "./hash.js";
import { Promise, SafeMap, SafeSet, ceil, max, min, never, own } from "./intrinsics.js";
import { createOutbox, field, readReply } from "./outbox.js";
import { quote } from "./codec.js";
import { replay } from "./replay.js";
import { createTimers } from "./timers.js";
import * as turns from "./turns.js";

/**
 * @typedef {object} Native The platform, taken before the program ran.
 * @property {() => number} now Unix ms
 * @property {(run: () => void, ms: number) => any} setTimeout
 * @property {(handle: any) => void} clearTimeout
 * @property {(run: () => void) => void} turn runs it in a later macrotask, after all microtasks queued now
 */

/**
 * @typedef {object} Call A dispatch of the program's.
 * @property {number} n its number; -1 before it has one
 * @property {string} path
 * @property {boolean} step its answer is what a function of the program's gives
 * @property {boolean} looked the program hangs on its promise
 * @property {any} [site] an error that was made where the call was
 * @property {(reply: Reply) => void} settle gives the reply to the program
 */

/** @typedef {import("./outbox.js").Reply} Reply */
/** @typedef {{ event: "s" | "n", id: number, at: number, go: () => void, next: Arrival | null }} Arrival */

/** How long only people must have been waited for before the run is quiet. */
const GRACE_MS = 1000;
/** At most one note in this time; the first comes after `NOTE_DELAY_MS`. */
const NOTE_MS = 1000;
const NOTE_DELAY_MS = 50;
/** A turn that nobody closes is looked at after this time: a program may hang. */
const SWEEP_MS = 10;
/** The longest delay that the platform's timers know. */
const LONGEST_MS = 2 ** 31 - 1;
/** Turns of the loop for what the platform does outside our sight: an `import()`, for one. */
export const PATIENCE = 20;

/** Frames that issuing a call takes, by far. */
const STACK_FRAMES = 16;

/**
 * Throws the program's own RangeError where its recursion has left no room for so many frames.
 *
 * @param {number} frames
 * @returns {number}
 */
const ensureStack = (frames) => (frames === 0 ? 0 : ensureStack(frames - 1) + 1);

export class Attempt {
  /**
   * @param {object} of
   * @param {any} of.invocation
   * @param {boolean} of.tagged its values hold tags
   * @param {(message: string) => Promise<string>} of.host
   * @param {Native} of.native
   * @param {ReturnType<typeof import("./logs.js").createLogs>} of.logs
   * @param {ReturnType<typeof import("./guard.js").createGuard>} of.guard
   * @param {(error: any) => void} of.timerFailed
   * @param {() => string} of.warnings JSON without the brackets
   */
  constructor({ invocation, tagged, host, native, logs, guard, timerFailed, warnings }) {
    const journal = own(invocation, "journal") ?? { events: [], calls: [] };
    this.tagged = tagged;
    this.native = native;
    this.guard = guard;
    this.warnings = warnings;
    /** @type {any} What the replaced globals answer from. */
    this.ambient = null;
    /** @type {(reason: any) => void} Told of rejections that nobody handles */
    this.unhandled = () => {};
    /** @type {any} Events: [kind, id, at] */
    this.recorded = journal.events;
    /** @type {any} Calls: {hash, at, reply?} */
    this.recordedCalls = journal.calls;
    this.clock = createClock(native.now);
    this.timers = createTimers(this.clock, timerFailed);
    this.outbox = createOutbox(host, logs, this.recorded.length);

    /** @type {any} Dispatches without an answer by number, in order of issue */
    this.open = new SafeMap();
    /** @type {any} Numbers of those that wait for a person */
    this.asked = new SafeSet();
    /** @type {any} Numbers of steps whose function has not settled: they are not at the host */
    this.running = new SafeSet();
    /** @type {any} What a step's function gave, until the host has it */
    this.results = new SafeMap();
    /** @type {any} Platform operations: number → how to settle it; null while the platform works on it */
    this.operations = new SafeMap();
    /** @type {Arrival | null} What has arrived and is not delivered, oldest first */
    this.arrivals = null;
    /** @type {Arrival | null} */
    this.newest = null;

    this.issued = 0;
    this.started = 0;
    /** Events delivered so far, recorded and live: the only clock that a replay needs. */
    this.delivered = 0;
    this.live = false;
    this.ended = false;
    /** @type {(() => string) | null} The end that the program has come to, once its turn is over */
    this.outcome = null;

    this.turnOpen = false;
    this.closing = false;
    this.issuedBefore = 0;
    /** Looks at a program that has nothing to wait for. */
    this.hopeless = 0;
    /** @type {number | null} Program time since which only people are waited for */
    this.peopleSince = null;
    this.quietAsked = false;
    /** @type {{ at: number, handle: any } | null} The native timer for the program's next one */
    this.wake = null;
    /** @type {any} Handles of native timers */
    this.sweep = null;
    /** @type {any} */
    this.note = null;
    this.notedAt = -Infinity;
    /** @type {((id: number) => void) | null} Told in a replay when the platform is done with an operation */
    this.operated = null;

    /** @type {(end: string) => void} */
    this.finish = () => {};
    /** @type {Promise<string>} */
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  /**
   * Runs `program`, which reports its end to `settled`; answers the end. The date at the start is the first
   * event; it stands before the program.
   *
   * @param {() => void} program
   * @returns {Promise<string>}
   */
  run(program) {
    this.live = this.recorded.length === 0 && this.recordedCalls.length === 0;
    this.guard.start();
    this.openTurn();
    if (this.live) {
      this.clock.resume();
      this.write("c", this.clock.start());
    } else if (this.recorded.length > 0) {
      this.delivered = 1;
      this.clock.jump(this.recorded[0][1]);
    }
    program();
    if (!this.live) this.replay();
    return this.finished;
  }

  async replay() {
    try {
      await replay(this);
    } catch (error) {
      this.broke(error);
    }
  }

  // ---- The end -----------------------------------------------------------------------------------------

  /**
   * The program's own promise has settled; its turn is run dry, then it ends.
   *
   * @param {() => string} outcome makes the fields of the end
   */
  settled(outcome) {
    this.outcome ??= outcome;
    this.closeTurn();
  }

  /**
   * The attempt ends here. From now on the promise of a call never settles.
   *
   * @param {string} head the fields of the end, without braces
   */
  stop(head) {
    if (this.ended) return;
    this.ended = true;
    this.guard.stop();
    if (this.wake !== null) this.native.clearTimeout(this.wake.handle);
    if (this.sweep !== null) this.native.clearTimeout(this.sweep);
    if (this.note !== null) this.native.clearTimeout(this.note);
    const open = this.open.size === 0 ? "" : this.openCalls();
    this.finish(this.outbox.end(`${head},"open":[${open}],"warnings":[${this.warnings()}]`));
  }

  /**
   * The budget is spent. A program that sleeps with nothing pending would have slept for ever, whether or
   * not that was seen before: on a busy machine the looks for it take longer than a short budget.
   *
   * @param {boolean} asleep
   */
  expired(asleep) {
    const hopeless =
      asleep && this.live && this.arrivals === null && this.outcome === null && !this.pending();
    this.stop(hopeless ? '"end":"deadlocked"' : '"end":"timed_out"');
  }

  /** Whether anything is on its way that could move the program; a step's function is the program. */
  pending() {
    return this.inFlight() > 0 || this.operations.size > 0 || this.timers.size() > 0;
  }

  /** Numbers of the dispatches in flight that the program had looked at; a step is the program's own. */
  openCalls() {
    let out = "";
    this.open.forEach((/** @type {Call} */ call, /** @type {number} */ n) => {
      if (call.looked && !call.step) out += out === "" ? n : `,${n}`;
    });
    return out;
  }

  /**
   * The program takes another way. What the record has of call `n` the host knows.
   *
   * @param {string} why
   * @param {number} n
   * @param {string} [issued] the tool that the program called
   * @param {string} [event] what the record has, where it is no call
   */
  diverged(why, n, issued, event) {
    this.stop(
      `"end":"diverged","why":"${why}","n":${n}${field("issued", issued)}${field("event", event)}`,
    );
  }

  /** A message failed. The program must not see what nobody recorded. @param {any} error */
  broke(error) {
    let said = "";
    try {
      said = `${error.message}`;
    } catch {
      // The platform rejected with something else.
    }
    this.stop(`"end":"broken"${field("text", said)}`);
  }

  // ---- Dispatches ----------------------------------------------------------------------------------------

  /**
   * Issues a call at once: number, hash, compare or send. False where the attempt has ended, by this too.
   *
   * @param {Call} call
   * @param {string} args tagged JSON
   * @returns {boolean}
   */
  issue(call, args) {
    if (this.ended) return false;
    ensureStack(STACK_FRAMES); // What follows must not stop half way.
    const n = this.issued++;
    const { path } = call;
    const hash = hashCall(path, args);
    call.n = n;
    this.open.set(n, call);
    if (n < this.recordedCalls.length) {
      const known = this.recordedCalls[n];
      if (known.hash !== hash || known.at !== this.delivered) {
        this.diverged(known.hash === hash ? "moved" : "differs", n, path);
        return false;
      }
      // A step's result that is recorded and was not delivered is asked for like any reply.
      if (call.step && own(known, "reply") === undefined) this.running.add(n);
      return true;
    }
    if (this.delivered < this.recorded.length) {
      this.diverged("extra", n, path);
      return false;
    }
    const numbered = `"n":${n},"path":${quote(path)},"hash":"${hash}","at":${this.delivered}`;
    if (call.step) {
      this.running.add(n);
      this.tell(`"t":"step",${numbered}`, `,"args":${args}`);
    } else {
      this.guard.dispatched();
      this.ask(call, `"t":"call",${numbered}`, `,"args":${args}`);
    }
    return true;
  }

  /** @param {Call} call @param {string} head @param {string} [value] */
  async ask(call, head, value) {
    let reply;
    try {
      reply = readReply(await this.outbox.send(head, value));
    } catch (error) {
      this.broke(error);
      return;
    }
    this.answered(call, reply);
  }

  /** A message whose answer says nothing. @param {string} head @param {string} [value] */
  async tell(head, value) {
    try {
      await this.outbox.send(head, value);
    } catch (error) {
      this.broke(error);
    }
  }

  /** @param {Call} call @param {Reply} reply */
  answered(call, reply) {
    if (this.ended) return;
    // It took I/O, so the turn that issued this call is over.
    if (this.live && call.n >= this.issuedBefore) this.turnOpen = false;
    const { n } = call;
    if (own(reply.parsed, "waiting") === true) {
      this.asked.add(n);
      const place = call.site === undefined ? null : placeIn(stackOf(call.site));
      const where = place === null ? "" : `,"line":${place.line},"column":${place.column}`;
      this.ask(call, `"t":"decided","n":${n}${where}`);
      this.pump();
      return;
    }
    this.asked.delete(n);
    this.clock.thaw();
    this.peopleSince = null;
    if (own(reply.parsed, "go") === true) {
      this.ask(call, `"t":"again","n":${n}`);
      return;
    }
    this.guard.returned();
    this.arrive("s", n, () => this.settle(call, reply));
    this.pump();
  }

  /** @param {Call} call @param {Reply} reply */
  settle(call, reply) {
    this.open.delete(call.n);
    this.running.delete(call.n);
    call.settle(reply);
  }

  /**
   * A step's function has settled. In a replay its result is thrown away for the recorded one.
   *
   * @param {Call} call
   * @param {string} result `{"value":…}` or `{"error":…}`
   */
  stepped(call, result) {
    if (this.ended || !this.running.has(call.n)) return;
    this.results.set(call.n, result);
    if (this.live || call.n >= this.recordedCalls.length) this.report(call);
  }

  /** Gives the host what a step's function gave. @param {Call} call */
  report(call) {
    const { n } = call;
    const result = this.results.get(n);
    this.results.delete(n);
    this.running.delete(n);
    this.guard.dispatched();
    this.ask(call, `"t":"done","n":${n}`, `,"reply":${result}`);
  }

  /** How many dispatches are at the host. */
  inFlight() {
    return this.open.size - this.running.size;
  }

  // ---- Platform operations that settle outside the microtask queue ------------------------------------------

  /**
   * @template T
   * @param {() => Promise<T>} start
   * @returns {Promise<T>}
   */
  operate(start) {
    if (this.ended) return never();
    const id = this.started++;
    this.operations.set(id, null);
    return new Promise((resolve, reject) => {
      let operation;
      try {
        operation = start();
      } catch (error) {
        this.operations.delete(id);
        throw error;
      }
      this.watch(id, operation, resolve, reject);
    });
  }

  /** @param {number} id @param {Promise<any>} operation @param {Function} resolve @param {Function} reject */
  async watch(id, operation, resolve, reject) {
    /** @type {() => void} */
    let settle;
    try {
      const value = await operation;
      settle = () => resolve(value);
    } catch (error) {
      settle = () => reject(error);
    }
    if (this.ended) return;
    this.operations.set(id, settle);
    if (this.live) {
      this.arrive("n", id, () => this.settleOperation(id));
      this.pump();
    } else if (this.operated !== null) {
      this.operated(id);
    }
  }

  /** @param {number} id */
  settleOperation(id) {
    const settle = this.operations.get(id);
    if (settle === undefined || settle === null) return false;
    this.operations.delete(id);
    settle();
    return true;
  }

  // ---- Live: one event a turn ----------------------------------------------------------------------------------

  /** @param {"s" | "n"} event @param {number} id @param {() => void} go */
  arrive(event, id, go) {
    const arrival = { event, id, at: this.native.now(), go, next: null };
    if (this.newest === null) this.arrivals = arrival;
    else this.newest.next = arrival;
    this.newest = arrival;
  }

  /**
   * A turn begins. To know that it is over costs a native timer, so that is asked for only where something
   * waits for it. The reply to a call that this turn issues proves it too, which makes calls one after the
   * other free of it. The sweep finds what nobody waited for.
   */
  openTurn() {
    turns.take(this);
    this.turnOpen = true;
    this.issuedBefore = this.issued;
    this.hopeless = 0;
    if (!this.live) return;
    if (
      this.arrivals !== null ||
      this.asked.size > 0 ||
      (this.timers.size() > 0 && this.wake === null)
    ) {
      this.closeTurn();
    } else {
      this.sweep ??= this.native.setTimeout(() => {
        this.sweep = null;
        this.pump();
      }, SWEEP_MS);
    }
  }

  /** Asks for the proof that the turn is over: a macrotask that is queued now. */
  closeTurn() {
    if (this.closing || !this.live) return;
    this.closing = true;
    this.native.turn(() => {
      this.closing = false;
      this.turnOpen = false;
      this.pump();
    });
  }

  /** Delivers what is next, if the turn is over and anything is. */
  pump() {
    if (!this.live || this.ended) return;
    if (this.turnOpen) {
      this.closeTurn();
      return;
    }
    if (this.outcome !== null) {
      this.stop(this.outcome()); // The turn in which the program ended was its last.
      return;
    }
    const other = turns.other(this);
    if (other !== null) {
      this.native.turn(() => {
        other.turnOpen = false;
        this.pump();
      });
      return;
    }
    const now = this.clock.passed();
    const timer = this.timers.next();
    const sleep = this.timers.nextSleep();
    if (this.quiet(timer, sleep, now)) return;
    const next = this.choose(timer, sleep, now);
    if (next === null) this.idle(timer, sleep);
    else this.deliver(next, now);
  }

  /**
   * Of what has arrived and what is due, the earlier; of equals the arrival. Any choice is right, because it
   * is recorded.
   *
   * @param {{ id: number, due: number } | null} timer
   * @param {{ id: number, due: number } | null} sleep
   * @param {number} now
   * @returns {Arrival | number | null} an arrival, or the number of a timer
   */
  choose(timer, sleep, now) {
    let first = null;
    let at = Infinity;
    if (timer !== null && timer.due <= now) {
      first = timer.id;
      at = this.clock.native(timer.due);
    }
    if (sleep !== null && sleep.due <= this.native.now() && sleep.due < at) {
      first = sleep.id;
      at = sleep.due;
    }
    return first !== null && (this.arrivals === null || at < this.arrivals.at)
      ? first
      : this.arrivals;
  }

  /** @param {Arrival | number} next @param {number} now */
  deliver(next, now) {
    if (typeof next !== "number") {
      this.arrivals = next.next;
      if (this.arrivals === null) this.newest = null;
    }
    this.openTurn();
    const jump = this.clock.turn(now);
    if (jump !== null) this.write("c", jump);
    if (typeof next === "number") {
      this.write("t", next);
      this.timers.fire(next);
    } else {
      this.write(next.event, next.id);
      next.go();
    }
  }

  /** @param {"s" | "t" | "n" | "c"} kind @param {number} id */
  write(kind, id) {
    this.outbox.event(kind, id, this.clock.now());
    this.delivered++;
  }

  /**
   * Nothing to deliver.
   *
   * @param {{ due: number } | null} timer
   * @param {{ due: number } | null} [sleep]
   */
  idle(timer, sleep = null) {
    if (sleep !== null) this.wakeAt(sleep.due);
    if (timer !== null) {
      this.wakeAt(this.clock.native(timer.due));
    } else if (!this.pending()) {
      // Nothing is left that could settle the program, unless the platform does something outside our sight.
      if (this.hopeless++ >= PATIENCE) this.stop('"end":"deadlocked"');
      else this.native.turn(() => this.pump());
      return;
    }
    this.noteSoon();
  }

  /** @param {number} at native time */
  wakeAt(at) {
    if (this.wake !== null) {
      if (this.wake.at <= at) return;
      this.native.clearTimeout(this.wake.handle);
    }
    const run = () => {
      this.wake = null;
      this.pump();
    };
    this.wake = {
      at,
      handle: this.native.setTimeout(run, min(LONGEST_MS, max(0, ceil(at - this.native.now())))),
    };
  }

  noteSoon() {
    if (this.note !== null || !this.outbox.waiting()) return;
    const wait = max(NOTE_DELAY_MS, this.notedAt + NOTE_MS - this.native.now());
    this.note = this.native.setTimeout(() => {
      this.note = null;
      if (this.ended || !this.outbox.waiting()) return;
      this.notedAt = this.native.now();
      this.tell('"t":"note"');
    }, wait);
  }

  // ---- Parking ---------------------------------------------------------------------------------------------------

  /**
   * Whether the run waits for people or sleeps that park only, and for nothing that is due soon. Then program
   * time stands still and the host is told; it parks the run, or holds it and does not answer. A timer that
   * a sleep stands beside is the program's own time: it runs on, unless people are waited for as well.
   *
   * @param {{ due: number } | null} timer
   * @param {{ due: number } | null} sleep
   * @param {number} now
   */
  quiet(timer, sleep, now) {
    const awaited = this.asked.size > 0 || (sleep !== null && timer === null);
    if (!awaited || this.asked.size !== this.inFlight() || this.arrivals !== null) {
      this.peopleSince = null;
      return false;
    }
    if (sleep !== null && sleep.due <= this.native.now()) {
      this.peopleSince = null;
      this.clock.thaw();
      return false;
    }
    // Counted once: an interval must not keep a run from ever parking. An operation of the platform's that
    // never ends must not either; it starts anew in the replay.
    this.peopleSince ??= now;
    const until = this.peopleSince + GRACE_MS;
    const soon = timer !== null && timer.due <= until;
    if (now >= until || (this.operations.size === 0 && !soon)) {
      this.clock.freeze();
      if (sleep !== null) this.wakeAt(sleep.due);
      if (!this.quietAsked) this.park(sleep);
      return true;
    }
    if (soon) return false;
    this.wakeAt(min(this.clock.native(until), sleep === null ? Infinity : sleep.due));
    return true;
  }

  /** @param {{ due: number } | null} sleep the one that ends first */
  async park(sleep) {
    this.quietAsked = true;
    const { delivered } = this;
    let reply;
    try {
      const until = sleep === null ? "" : `,"until":${sleep.due}`;
      reply = readReply(await this.outbox.send(`"t":"quiet"${until}`));
    } catch (error) {
      this.broke(error);
      return;
    }
    this.quietAsked = false;
    // A decision or the end of a sleep that came while `park` was on its way wins: time went on.
    if (delivered !== this.delivered) this.pump();
    else if (own(reply.parsed, "park") === true && this.clock.frozen()) this.stop('"end":"parked"');
  }

  // ---- After a replay ----------------------------------------------------------------------------------------------

  /** The record is used up: program time goes on, and what is open is asked for again, in order. */
  goLive() {
    this.live = true;
    this.turnOpen = false;
    this.clock.resume();
    this.operations.forEach((/** @type {any} */ settle, /** @type {number} */ id) => {
      if (settle !== null) this.arrive("n", id, () => this.settleOperation(id));
    });
    if (this.inFlight() === 0) this.tell('"t":"note"'); // The host has heard nothing of this attempt yet.
    this.open.forEach((/** @type {Call} */ call, /** @type {number} */ n) => {
      if (this.running.has(n)) {
        if (this.results.has(n)) this.report(call);
      } else if (n < this.recordedCalls.length) {
        this.guard.dispatched();
        this.ask(call, `"t":"again","n":${n}`);
      }
    });
    this.pump();
  }

  /** A timer of the harness's own is due now. @param {number} id */
  summon(id) {
    if (this.ended) return;
    this.timers.summon(id);
    this.pump();
  }

  // ---- What the program's timers call ---------------------------------------------------------------------------------

  /** @param {any} run @param {any} ms @param {boolean} repeat @param {any[]} args */
  addTimer(run, ms, repeat, args) {
    const id = this.timers.add(run, ms, repeat, args);
    this.closeTurn();
    return id;
  }

  /** @param {any} run @param {number} until Unix ms */
  addSleep(run, until) {
    this.timers.addSleep(run, until);
    this.closeTurn();
  }
}
