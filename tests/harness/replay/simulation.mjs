// A world in one thread: simulated time, seeded choices, real microtasks. One seed, one history.

/** Seeded numbers in [0, 1). @param {number} seed */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Microtasks run dry. */
export const drain = () => new Promise((resolve) => setImmediate(resolve));

/** Who schedules what no crash takes back: the far side of a tool, people. */
export const WORLD = "world";

export class Simulation {
  now = 0;
  owner = /** @type {any} */ (0);
  steps = 0;
  /** @type {{ time: number, tie: number, run: () => void, owner: any, alone: boolean }[]} */
  #queue = [];

  /** @param {number} seed */
  constructor(seed) {
    this.random = seeded(seed);
  }

  /** A whole number from `low` to `high`. @param {number} low @param {number} high */
  pick(low, high) {
    return low + Math.floor(this.random() * (high - low + 1));
  }

  /** @param {number} probability */
  chance(probability) {
    return this.random() < probability;
  }

  /** @param {number} ms @param {() => void} run @param {any} [owner] @param {boolean} [alone] */
  at(ms, run, owner = this.owner, alone = false) {
    const entry = { time: this.now + Math.max(0, ms), tie: this.random(), run, owner, alone };
    this.#queue.push(entry);
    return entry;
  }

  /** @param {number} ms @returns {Promise<void>} */
  wait(ms) {
    return new Promise((resolve) => this.at(ms, resolve));
  }

  /** @param {any} entry */
  cancel(entry) {
    const at = this.#queue.indexOf(entry);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** A process dies: what it had scheduled does not happen. @param {any} owner */
  drop(owner) {
    this.#queue = this.#queue.filter((entry) => entry.owner !== owner);
  }

  get idle() {
    return this.#queue.length === 0;
  }

  /** @returns {any} */
  #pop() {
    /** @type {any[]} */
    const queue = this.#queue;
    let first = 0;
    for (let i = 1; i < queue.length; i++) {
      const earlier = queue[i].time - queue[first].time || queue[i].tie - queue[first].tie;
      if (earlier < 0) first = i;
    }
    return queue.splice(first, 1)[0];
  }

  /** One macrotask. Now and then two arrivals share it, as two replies in one turn of a loop may. */
  async step() {
    const entry = this.#pop();
    this.now = Math.max(this.now, entry.time);
    this.steps++;
    entry.run();
    if (!entry.alone && this.chance(0.3)) {
      const at = this.#queue.findIndex((other) => !other.alone && other.time <= this.now + 1);
      if (at >= 0) {
        const second = /** @type {any} */ (this.#queue.splice(at, 1)[0]);
        this.now = Math.max(this.now, second.time);
        second.run();
      }
    }
    await drain();
  }

  /** The platform as one attempt has it. @param {number} wall Unix ms at simulated time 0 */
  native(wall) {
    return {
      now: () => wall + this.now,
      setTimeout: (/** @type {() => void} */ run, /** @type {number} */ ms) =>
        this.at(ms + this.pick(0, 2), run),
      clearTimeout: (/** @type {any} */ entry) => this.cancel(entry),
      turn: (/** @type {() => void} */ run) => void this.at(0, run, this.owner, true),
    };
  }
}
