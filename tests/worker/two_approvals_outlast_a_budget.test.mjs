// Rule: waiting for people counts against no budget. Two chained approvals whose waits are longer than
// the budget together reach a live program both, and both tools run once. In real time:
// tests/slow/two_approvals_outlast_a_budget.test.mjs.
import { test } from "node:test";
import { chained } from "./chained.mjs";

test("two chained approvals in 5 min 45 s, twenty times as fast", { timeout: 120_000 }, () =>
  chained(20),
);
