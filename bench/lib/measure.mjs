// Measures cases: every contender in turn, round after round, so that what disturbs one disturbs all.
import assert from "node:assert/strict";
import { median, quantile } from "./statistics.mjs";

/** The first rounds are not counted: code is compiled, connections are opened. */
const WARM_UP_ROUNDS = 3;

/** A long program shows the same after few. */
const COMPUTE_ROUNDS = 7;

/**
 * @typedef {object} Figures
 * @property {number} minMs
 * @property {number} medianMs
 * @property {number} p99Ms
 * @property {number} cpuMs median: processor time of workerd's main thread, which does all the work
 * @property {number} rounds
 * @property {number} [d1Ms] mean: in D1, of that
 */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {Partial<Record<import("./contenders.mjs").Name, Figures>>} figures
 */

/**
 * @param {import("../cases.mjs").Case} one
 * @param {Awaited<ReturnType<typeof import("./contenders.mjs").startContenders>>} contestants
 * @param {{ sliceMs: number, minRounds: number, maxRounds: number }} bounds
 * @returns {Promise<Row>}
 */
export async function measure(one, { asks, spentMs }, { sliceMs, minRounds, maxRounds }) {
  const contenders = /** @type {[import("./contenders.mjs").Name, any][]} */ (
    Object.entries(asks)
      .map(([name, of]) => [name, of(one)])
      .filter(([, ask]) => ask !== undefined)
  );
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(contenders.map(([name]) => [name, []]));
  /** @type {Record<string, number[]>} */
  const cpu = Object.fromEntries(contenders.map(([name]) => [name, []]));
  /** @type {Record<string, number[]>} */
  const d1 = Object.fromEntries(contenders.map(([name]) => [name, []]));
  const warmUp = one.compute ? 1 : Math.min(minRounds, WARM_UP_ROUNDS);
  const least = one.compute ? Math.min(minRounds, COMPUTE_ROUNDS) : minRounds;
  const end = performance.now() + sliceMs;
  for (let round = -warmUp; round < maxRounds; round += 1) {
    if (round >= least && performance.now() > end) break;
    for (const [name, ask] of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const from = performance.now();
      const spentBefore = spentMs();
      const answers = await Promise.all(Array.from({ length: one.callers ?? 1 }, () => ask(one)));
      const spent = spentMs() - spentBefore;
      const ms = one.callers === undefined ? answers[0].ms : performance.now() - from;
      for (const { result } of answers) {
        if (one.result !== undefined) assert.deepEqual(result, one.result, `${one.name}, ${name}`);
      }
      if (round < 0) continue;
      times[name]?.push(ms);
      cpu[name]?.push(spent);
      if (Number.isFinite(answers[0].d1Ms)) d1[name]?.push(answers[0].d1Ms);
    }
  }
  /** @type {Row} */
  const row = { name: one.name, figures: {} };
  for (const [name] of contenders) {
    const all = times[name] ?? [];
    const inD1 = d1[name] ?? [];
    row.figures[name] = {
      minMs: Math.min(...all),
      medianMs: median(all),
      p99Ms: quantile(all, 0.99),
      cpuMs: median(cpu[name] ?? []),
      rounds: all.length,
      ...(inD1.length > 0 && one.callers === undefined
        ? { d1Ms: inD1.reduce((sum, ms) => sum + ms, 0) / inD1.length }
        : {}),
    };
  }
  return row;
}
