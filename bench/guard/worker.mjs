// Runs one of the programs once, with the guard's ticks in it or without, and says what came out.
import { createGuard } from "../../src/sandbox/harness/guard.js";
// @ts-expect-error -- made by bench/guard.mjs
import { programs } from "./prepared.js";

/** Longer than any measurement: the guard looks at the clock and never ends anything. */
const BUDGET_MS = 3_600_000;

const guard = createGuard({
  budgetMs: BUDGET_MS,
  now: Date.now,
  later: setTimeout,
  cancel: clearTimeout,
  expired: () => {},
});

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const at = Number(searchParams.get("program"));
    const factory = programs[at][searchParams.get("kind") ?? "plain"];
    guard.fresh();
    const value = await factory(guard.ticks, { params: {}, tools: {} })();
    return Response.json(value);
  },
};
