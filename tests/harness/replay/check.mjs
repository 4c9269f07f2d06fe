// The property: for a random program and a random history of parks, crashes and lost leases, the outcome, the log
// lines, the calls, the events and the effects equal those of one uninterrupted attempt that met the same events.
//
// Usage: node check.mjs [--histories N] [--seed S] [--sleeps] [--without RULE] [--shrink] [--show]
// --sleeps: sleeps over 800 ms park the run.
// The last line is JSON: {passed, failed, faults, sum, seeds}.
import { compile, generate, smaller, source } from "./programs.mjs";
import { createHost, Journal, People, TOOLS } from "./record.mjs";
import { drain, Simulation, WORLD } from "./simulation.mjs";
import { FORCED, variant, WITHOUT } from "./variants.mjs";

process.on("unhandledRejection", () => {}); // The program's own business; a worker warns about them.

/** What the changed harnesses ask. @type {any} */
const realm = globalThis;
const WALL = 1_790_000_000_000;
const MAX_ATTEMPTS = 60;
const MAX_STEPS = 50_000;
const LIMITS = {
  argumentBytes: 1e6,
  resultBytes: 1e6,
  logBytes: 1e7,
  logLines: 1e5,
  logLineBytes: 1e4,
};
const INVOCATION = {
  runId: "r",
  surface: "execute",
  params: {},
  budgetMs: 1e9,
  limits: LIMITS,
  export: null,
  ...(process.argv.includes("--sleeps") ? { parkMs: 800 } : {}),
};

const option = (/** @type {any} */ name, /** @type {any} */ or) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? or : process.argv[at + 1];
};
const flag = (/** @type {any} */ name) => process.argv.includes(`--${name}`);

/** @type {Record<string, any>} */
const HOST_FLAWS = {
  "effects are written down before they are made": { effectNotWrittenBefore: true },
  "an attempt that lost its lease stores nothing": { noFence: true },
  "the sandbox tells the order, not the host": { hostOrder: true },
};
const rule = option("without", null);
const flaws = HOST_FLAWS[rule] ?? {};
if (rule !== null && HOST_FLAWS[rule] === undefined && WITHOUT[rule] === undefined) {
  throw new Error(`no rule ${rule}`);
}
const { Evaluation } = await variant(WITHOUT[rule] ?? []);
const { Evaluation: Reference } = await variant(
  [...(WITHOUT[rule] ?? []), ...FORCED].filter(([file, find]) => {
    const reference = FORCED.some(([f, t]) => f === file && t === find);
    return reference || rule !== "one event a turn";
  }),
);

const seedOf = (/** @type {any} */ seed) =>
  Array.from({ length: 8 }, (_, i) =>
    ((Math.imul(seed + 1, 0x9e3779b1) ^ (i * 0x85ebca6b)) >>> 0).toString(16).padStart(8, "0"),
  ).join("");

/**
 * A run with parks and crashes.
 *
 * @param {any[]} main @param {number} seed
 * @returns {Promise<any>}
 */
async function history(/** @type {any} */ main, /** @type {any} */ seed) {
  const simulation = new Simulation(seed);
  const record = new Journal(simulation, flaws);
  const people = new People(simulation);
  /** @type {any[]} */
  const world = [];
  const stats = { attempts: 0, crashes: 0, parks: 0, sleeps: 0, lostLeases: 0, replayed: 0 };
  const run = {
    record,
    people,
    world,
    /** @type {number | null} */
    until: null,
    holds: simulation.chance(0.3) ? 0.8 : 0.1,
    answer: (/** @type {any} */ path, /** @type {any} */ args) =>
      [...`${path}${JSON.stringify(args)}`].reduce(
        (sum, c) => (sum * 31 + c.charCodeAt(0)) % 997,
        7,
      ) + simulation.pick(0, 3),
  };
  const program = compile(source(main));
  let crashes = simulation.pick(0, 4);
  for (;;) {
    if (++stats.attempts > MAX_ATTEMPTS) throw new Error("too many attempts");
    simulation.owner = stats.attempts;
    const journal = record.journal();
    stats.replayed += journal.events.length;
    const { host, finish } = createHost(simulation, run, flaws);
    const native = simulation.native(WALL);
    const evaluation = new Evaluation(
      { ...INVOCATION, seed: seedOf(seed), journal },
      false,
      host,
      native,
    );
    const { attempt } = evaluation;
    realm.REPLAYING = () => attempt.delivered < attempt.recorded.length;
    const operation = (/** @type {any} */ value) =>
      attempt.operate(
        () => new Promise((resolve) => simulation.at(simulation.pick(0, 30), () => resolve(value))),
      );
    /** @type {{ end: any, decided: boolean, stored: boolean }} */
    const so = { end: null, decided: false, stored: false };
    evaluation
      .run(
        (/** @type {any} */ _, /** @type {any} */ runtime) => () =>
          program(runtime, attempt.ambient, operation),
      )
      .then((/** @type {any} */ text) => {
        so.end = JSON.parse(text);
      });
    const crashAt =
      crashes > 0
        ? simulation.steps + simulation.pick(1, simulation.chance(0.6) ? 25 : 150)
        : Infinity;
    while (so.end === null && simulation.steps < crashAt) {
      await drain();
      if (so.end !== null) break;
      if (simulation.idle || simulation.steps > MAX_STEPS) {
        return { stuck: true, stats, record, world };
      }
      await simulation.step();
    }
    const { end } = so;
    if (end === null) {
      crashes--;
      stats.crashes++;
      if (simulation.chance(0.3)) {
        stats.lostLeases++;
      } // It goes on and does not know.
      else {
        attempt.stop('"end":"killed"');
        await drain();
        simulation.drop(stats.attempts);
      }
      record.crash();
      simulation.now += simulation.pick(0, 5_000);
      continue;
    }
    if (end.end === "parked") {
      stats.parks++;
      record.crash();
      simulation.drop(stats.attempts); // Nothing is held.
      const state = record.state();
      const waiting = [...state.asked].filter((n) => !state.replies.has(n));
      people.any(waiting).then(() => {
        so.decided = true;
      });
      if (run.until !== null) {
        stats.sleeps++;
        simulation.at(run.until - WALL - simulation.now, () => (so.decided = true), WORLD);
      }
      await drain();
      while (!so.decided) await simulation.step();
      simulation.now += simulation.pick(0, 90_000_000);
      continue;
    }
    if (["diverged", "broken", "timed_out"].includes(end.end)) {
      return { lost: end, stats, record, world };
    }
    finish(end).then(() => {
      so.stored = true;
    });
    while (!so.stored && simulation.steps < crashAt && !simulation.idle) await simulation.step();
    if (!so.stored) {
      crashes--;
      stats.crashes++;
      record.crash();
      simulation.drop(stats.attempts);
      continue;
    }
    simulation.drop(stats.attempts);
    while (!simulation.idle) await simulation.step(); // Effects under way land.
    return { end, stats, record, world };
  }
}

/**
 * The same program in one live attempt that meets the same events; nothing is replayed.
 *
 * @param {any[]} main @param {number} seed @param {any} run
 * @returns {Promise<any>}
 */
async function uninterrupted(/** @type {any} */ main, /** @type {any} */ seed, { record }) {
  const { events, replies } = record.state();
  const program = compile(source(main));
  /** @type {{ events: any[], logs: any[], calls: any[] }} */
  const heard = { events: [], logs: [], calls: [] };
  const waiting = new Map();
  /** @type {any[]} */
  const operations = [];
  /** @type {any[]} */
  let turns = [];
  const native = {
    now: () => events[0]?.[1] ?? WALL,
    setTimeout: () => null,
    clearTimeout: () => {},
    turn: (/** @type {any} */ run) => turns.push(run),
  };
  const take = (/** @type {any} */ message) => {
    heard.events.push(...(message.events ?? []));
    heard.logs.push(...(message.logs ?? []));
  };
  const host = (/** @type {any} */ text) => {
    const message = JSON.parse(text);
    take(message);
    const { t, n, path, args, hash, at } = message;
    if (t === "call" || t === "step") heard.calls[n] = { path, args, hash, at };
    if (t === "step" || t === "note") return Promise.resolve("{}");
    return new Promise((resolve) => waiting.set(n, resolve));
  };
  const evaluation = new Reference(
    { ...INVOCATION, seed: seedOf(seed), journal: null },
    false,
    host,
    native,
  );
  const { attempt } = evaluation;
  realm.REPLAYING = () => false;
  realm.FORCE = (/** @type {any} */ it) => force(it, events);
  const operation = (/** @type {any} */ value) =>
    attempt.operate(() => new Promise((resolve) => operations.push(() => resolve(value))));
  /** @type {any} */
  let end = null;
  evaluation
    .run(
      (/** @type {any} */ _, /** @type {any} */ runtime) => () =>
        program(runtime, attempt.ambient, operation),
    )
    .then((/** @type {any} */ text) => {
      end = JSON.parse(text);
    });
  const settle = async () => {
    await drain();
    do {
      const due = turns;
      turns = [];
      for (const run of due) {
        run();
        await drain();
      }
      await drain();
    } while (turns.length > 0);
  };
  await settle();
  for (const [kind, id] of events) {
    if (end !== null) break;
    if (kind === "s") waiting.get(id)?.(JSON.stringify(replies.get(id)));
    else if (kind === "n") operations[id]?.();
    await drain();
    attempt.pump();
    await settle();
  }
  if (end !== null) take(end);
  return { end, ...heard };
}

/** Delivers the next of the given events, if it has come. */
function force(/** @type {any} */ attempt, /** @type {any} */ events) {
  const event = events[attempt.delivered];
  if (event === undefined) {
    if (
      attempt.open.size === attempt.running.size &&
      attempt.operations.size === 0 &&
      attempt.timers.size() === 0
    ) {
      attempt.idle(null);
    }
    return;
  }
  const [kind, id, m] = event;
  const deliver = (/** @type {any} */ go) => {
    attempt.openTurn();
    attempt.clock.replayed(m);
    attempt.write(kind, id);
    go();
  };
  if (kind === "c") {
    attempt.clock.replayed(m);
    attempt.clock.jump(id);
    attempt.write("c", id);
    force(attempt, events);
  } else if (kind === "t") {
    if (attempt.timers.isDue(id, m)) deliver(() => attempt.timers.fire(id));
  } else {
    /** @type {any} */
    let before = null;
    let arrival = attempt.arrivals;
    while (arrival !== null && (arrival.event !== kind || arrival.id !== id)) {
      [before, arrival] = [arrival, arrival.next];
    }
    if (arrival === null) return;
    if (before === null) attempt.arrivals = arrival.next;
    else before.next = arrival.next;
    if (attempt.newest === arrival) attempt.newest = before;
    deliver(arrival.go);
  }
}

const same = (/** @type {any} */ a, /** @type {any} */ b) =>
  JSON.stringify(a) === JSON.stringify(b);

/**
 * Each effect at most once; exactly once where its reply is the tool's; never where it was refused.
 *
 * @param {any} run @param {any} state
 */
function faultOfEffects({ world }, { calls, replies }) {
  const count = new Map();
  for (const { n } of world) count.set(n, (count.get(n) ?? 0) + 1);
  for (const { n, path, args } of world) {
    if (count.get(n) > 1) return `call ${n} took effect ${count.get(n)} times`;
    const call = calls[n];
    if (call === undefined || call.path !== path || JSON.stringify(call.args) !== args) {
      return `an effect of call ${n} that is not in the record`;
    }
  }
  for (const [n, { path }] of calls.entries()) {
    if (TOOLS[path].readOnly) continue;
    const reply = replies.get(n);
    const times = count.get(n) ?? 0;
    const name = reply?.error?.name;
    if (reply !== undefined && (name === undefined || name === "ToolError") && times !== 1) {
      return `call ${n} answered and took effect ${times} times`;
    }
    if (["Declined", "Expired", "Blocked"].includes(name) && times > 0) {
      return `call ${n} was refused and took effect`;
    }
  }
  return null;
}

/** @param {any} end */
const outcome = ({ base: _, events: __, logs: ___, ...rest }) => rest;

/** What is wrong with a history, or null. @param {any[]} main @param {number} seed @returns {Promise<any>} */
async function judge(/** @type {any} */ main, /** @type {any} */ seed) {
  const run = await history(main, seed);
  if (run.stuck) return { fault: "stuck", run };
  if (run.lost) {
    return { fault: `${run.lost.end} ${run.lost.why ?? run.lost.text ?? ""} #${run.lost.n}`, run };
  }
  const state = run.record.state();
  const effects = faultOfEffects(run, state);
  if (effects !== null) return { fault: effects, run };
  const reference = await uninterrupted(main, seed, run);
  if (reference.end === null) {
    return { fault: "the same events do not end the uninterrupted run", run, reference };
  }
  if (!same(outcome(run.end), outcome(reference.end))) return { fault: "outcome", run, reference };
  if (!same(state.logs, reference.logs)) return { fault: "logs", run, reference };
  if (!same(state.calls, reference.calls)) return { fault: "calls", run, reference };
  if (!same(state.events, reference.events)) return { fault: "events", run, reference };
  return { fault: null, run };
}

/** @type {(main: any[], seed: number) => Promise<any>} */
const judged = async (/** @type {any} */ main, /** @type {any} */ seed) => {
  try {
    return await judge(main, seed);
  } catch (error) {
    return { fault: `threw ${/** @type {any} */ (error).stack}` };
  }
};

/** The smallest program near `main` that still fails. */
async function shrink(/** @type {any} */ main, /** @type {any} */ seed) {
  const fails = async (/** @type {any} */ candidate) => {
    for (let i = 0; i < 60; i++) {
      const verdict = await judged(candidate, seed + i * 7919);
      if (verdict.fault !== null) return { seed: seed + i * 7919, verdict };
    }
    return null;
  };
  let best = main;
  let found = { seed, verdict: await judged(main, seed) };
  for (let moved = true; moved;) {
    moved = false;
    for (const candidate of smaller(best)) {
      const failing = await fails(candidate);
      if (failing === null) continue;
      best = candidate;
      found = failing;
      moved = true;
      break;
    }
  }
  return { main: best, ...found };
}

const histories = Number(option("histories", 2_000));
const first = Number(option("seed", 1));
const stopAt = Number(option("stop", Infinity));
/** @type {Record<string, number>} */
const faults = {};
/** @type {{ seed: number, size: number, main: any[] }[]} */
const failing = [];
/** @type {Record<string, number>} */
const sum = {
  attempts: 0,
  crashes: 0,
  parks: 0,
  sleeps: 0,
  lostLeases: 0,
  replayed: 0,
  events: 0,
  calls: 0,
};
let passed = 0;
for (let seed = first; seed < first + histories && failing.length < stopAt; seed++) {
  const main = generate(seed);
  const verdict = await judged(main, seed);
  if (verdict.run) {
    for (const [key, value] of Object.entries(verdict.run.stats)) sum[key] += value;
    const { events, calls } = verdict.run.record.state();
    sum.events += events.length;
    sum.calls += calls.length;
  }
  if (verdict.fault === null) {
    passed++;
    continue;
  }
  const kind = verdict.fault.replace(/#?\d+/g, "N").slice(0, 300);
  faults[kind] = (faults[kind] ?? 0) + 1;
  failing.push({ seed, size: JSON.stringify(main).length, main });
  if (flag("show") && failing.length <= 3) {
    const { run, reference } = verdict;
    console.log(
      `seed ${seed}: ${verdict.fault}\n${source(main)}\n`,
      JSON.stringify(run?.record.entries),
      "\n",
      JSON.stringify(reference),
      "\n",
      JSON.stringify(run?.end ?? run?.lost),
    );
  }
}
if (failing.length > 0 && flag("shrink")) {
  const [smallest] = /** @type {any} */ (failing).toSorted(
    (/** @type {any} */ a, /** @type {any} */ b) => a.size - b.size,
  );
  const found = await shrink(smallest.main, smallest.seed);
  console.log(`smallest (seed ${found.seed}): ${found.verdict.fault}\n${source(found.main)}`);
}
const seeds = failing.slice(0, 5).map(({ seed }) => seed);
console.log(
  JSON.stringify({ rule, passed, failed: failing.length, faults, sum, seeds, from: first }),
);
