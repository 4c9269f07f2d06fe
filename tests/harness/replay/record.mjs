// The host's side of a history: the record of a run as one append-only list, what each call may do, the people.
// Everything is driven by the simulation.
import { WORLD } from "./simulation.mjs";

/** What the tools are. @type {Record<string, any>} */
export const TOOLS = {
  step: { readOnly: true },
  read: { readOnly: true },
  slow: { readOnly: true, delay: [200, 3000] },
  bad: { readOnly: true, fails: true },
  write: {},
  wfail: { fails: true },
  gated: { asks: true },
  gfail: { asks: true, fails: true },
  blocked: { blocked: true },
};

/** The list. `durable` is how much of it has reached the database; a crash keeps that much. */
export class Journal {
  /** @type {any[]} */
  entries = [];
  durable = 0;
  fence = 0;

  /** @param {import("./simulation.mjs").Simulation} simulation @param {any} flaws */
  constructor(simulation, flaws) {
    this.simulation = simulation;
    this.flaws = flaws;
  }

  append(/** @type {any} */ entry) {
    this.entries.push(entry);
  }

  /** Resolves once everything appended so far is stored. @returns {Promise<void>} */
  flushed(/** @type {number} */ fence) {
    const to = this.entries.length;
    return new Promise((resolve) =>
      this.simulation.at(this.simulation.pick(1, 20), () => {
        if (fence !== this.fence && !this.flaws.noFence) return;
        this.durable = Math.max(this.durable, to);
        resolve();
      }),
    );
  }

  crash() {
    if (!this.flaws.noFence) this.entries.length = this.durable;
    this.fence++;
  }

  /** The state is a fold over the entries. */
  state() {
    /** @type {any} */
    const state = {
      events: [],
      calls: [],
      logs: [],
      replies: new Map(),
      started: new Set(),
      asked: new Set(),
      outcome: null,
    };
    for (const entry of this.entries) {
      if (entry.events) state.events.push(...entry.events);
      if (entry.logs) state.logs.push(...entry.logs);
      if (entry.call) state.calls.push(entry.call);
      if (entry.reply) state.replies.set(entry.n, entry.reply);
      if (entry.started) state.started.add(entry.n);
      if (entry.asked) state.asked.add(entry.n);
      if (entry.outcome) state.outcome = entry.outcome;
    }
    return state;
  }

  /** What an attempt is given of it. */
  journal() {
    const { events, calls, logs, replies } = this.state();
    const withReply = (/** @type {any} */ call, /** @type {any} */ n) =>
      replies.has(n) ? { ...call, reply: replies.get(n) } : call;
    const next = Math.max(-1, ...logs.map((/** @type {any} */ [number]) => number)) + 1;
    return {
      events,
      calls: calls.map((/** @type {any} */ { hash, at }, /** @type {number} */ n) =>
        withReply({ hash, at }, n),
      ),
      logs: next,
    };
  }
}

/** One attempt's host. It lives and dies with the attempt; what stays is the run. */
export function createHost(
  /** @type {any} */ simulation,
  /** @type {any} */ run,
  /** @type {any} */ flaws,
) {
  const { record, people, world } = run;
  const { fence } = record;
  const gone = () => fence !== record.fence && !flaws.noFence;
  const state = record.state();
  const { replies, asked, started } = state;
  const calls = new Map(
    state.calls.map((/** @type {any} */ call, /** @type {any} */ n) => [n, call]),
  );
  let received = state.events.length;
  let settledAt = 0;
  const append = (/** @type {any} */ entry) => {
    if (!gone()) record.append(entry); // In the database: conditional on the fence.
  };
  const silence = () => new Promise(() => {});

  function take(/** @type {any} */ { base, events = [], logs = [] }) {
    if (base !== received && !flaws.noFence && !flaws.hostOrder) {
      throw new Error(`events from ${base}, ${received} known`);
    }
    const kept = flaws.hostOrder
      ? events.filter((/** @type {any} */ [kind]) => kind !== "s")
      : events;
    if (kept.length > 0) append({ events: kept });
    received += events.length;
    if (logs.length > 0) append({ logs });
  }

  function answer(/** @type {any} */ n, /** @type {any} */ reply) {
    append({ n, reply });
    replies.set(n, reply);
    return reply;
  }

  /** Calls the tool. @returns {Promise<any>} null where nobody hears the answer any more */
  async function execute(/** @type {number} */ n, /** @type {any} */ { path, args }) {
    const tool = TOOLS[path];
    if (!tool.readOnly) {
      if (!flaws.effectNotWrittenBefore) {
        append({ n, started: true });
        await record.flushed(fence); // Everything before it is stored with it.
      }
      if (gone()) return null;
    }
    const [least, most] = tool.delay ?? [1, 400];
    const delay = simulation.pick(least, most);
    const effect = () => world.push({ n, path, args: JSON.stringify(args) });
    if (!tool.readOnly) simulation.at(simulation.pick(0, delay), effect, WORLD); // The far side does not die with us.
    await simulation.wait(delay);
    if (gone()) return null;
    const error = {
      name: "ToolError",
      message: `${path} failed on ${JSON.stringify(args)}`,
      tool: path,
    };
    const reply = answer(n, tool.fails ? { error } : { value: run.answer(path, args) });
    if (!tool.readOnly) record.flushed(fence); // Begun at once; the next effect will wait for it.
    return reply;
  }

  async function decide(/** @type {any} */ n, /** @type {any} */ done) {
    if (replies.has(n)) return replies.get(n);
    if (done !== undefined) return answer(n, done);
    const call = calls.get(n);
    const tool = TOOLS[call.path];
    const refuse = (/** @type {any} */ name) =>
      answer(n, { error: { name, message: `${call.path} ${name}`, tool: call.path } });
    if (tool.blocked) return refuse("Blocked");
    if (started.has(n) && !tool.readOnly) return refuse("EffectUnknown");
    if (tool.asks) {
      const decision = people.decisions.get(n);
      if (decision === undefined) {
        if (!asked.has(n)) {
          asked.add(n);
          append({ n, asked: true });
        }
        await record.flushed(fence); // Nobody is asked about a call that a crash could take back.
        people.ask(n);
        return { waiting: true };
      }
      if (decision !== "allow") return refuse(decision === "decline" ? "Declined" : "Expired");
    }
    return execute(n, call);
  }

  async function dispatch(/** @type {any} */ message) {
    if (simulation.chance(0.7)) record.flushed(fence);
    await simulation.wait(simulation.pick(0, 3));
    const reply = await decide(message.n, message.reply);
    if (gone() || reply === null) return silence();
    if (flaws.hostOrder && !reply.waiting) {
      settledAt = Math.max(settledAt, message.events?.at(-1)?.[2] ?? 0);
      append({ events: [["s", message.n, settledAt]] });
    }
    await simulation.wait(simulation.pick(0, 5));
    return reply;
  }

  async function hear(/** @type {any} */ message) {
    if (gone()) return silence();
    take(message);
    if (message.t === "decided") {
      await people.decided(message.n);
      return { go: true };
    }
    const { t, n, path, args, hash, at } = message;
    // A number in the record is answered from the record, whatever the sandbox sends.
    if ((t === "call" || t === "step") && !calls.has(n)) {
      const call = { path, args, hash, at };
      calls.set(n, call);
      append({ call });
    }
    switch (t) {
      case "step":
      case "note":
        if (simulation.chance(0.7)) record.flushed(fence);
        return {};
      case "quiet":
        run.until = message.until ?? null;
        await record.flushed(fence);
        return simulation.chance(run.holds) ? silence() : { park: true }; // Held: the decision comes over `decided`.
      default:
        return dispatch(message);
    }
  }

  return {
    host: async (/** @type {any} */ text) => JSON.stringify(await hear(JSON.parse(text))),
    async finish(/** @type {any} */ end) {
      take(end);
      record.append({ outcome: end });
      await record.flushed(fence);
    },
  };
}

/** People decide each call once, at a time of their own, whether or not an attempt is alive. */
export class People {
  asked = new Set();
  decisions = new Map();
  /** @type {(() => void)[]} */
  #waiting = [];

  /** @param {import("./simulation.mjs").Simulation} simulation */
  constructor(simulation) {
    this.simulation = simulation;
  }

  ask(/** @type {any} */ n) {
    if (this.asked.has(n)) return;
    this.asked.add(n);
    const decide = () => {
      const to = this.simulation.chance(0.7)
        ? "allow"
        : this.simulation.chance(0.5)
          ? "decline"
          : "expire";
      this.decisions.set(n, to);
      for (const look of this.#waiting.splice(0)) look();
    };
    this.simulation.at(this.simulation.pick(5, 20_000), decide, WORLD);
  }

  decided(/** @type {any} */ n) {
    return this.any([n]);
  }

  /** @param {number[]} numbers @returns {Promise<void>} */
  any(numbers) {
    return new Promise((resolve) => {
      const look = () => {
        if (numbers.some((/** @type {any} */ n) => this.decisions.has(n))) resolve();
        else this.#waiting.push(look);
      };
      look();
    });
  }
}
