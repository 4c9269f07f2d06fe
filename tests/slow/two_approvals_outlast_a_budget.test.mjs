// Rule: as tests/worker/two_approvals_outlast_a_budget.test.mjs, in real time: it takes six minutes.
import { test } from "node:test";
import { chained } from "../worker/chained.mjs";

test("two chained approvals in 5 min 45 s", { timeout: 600_000 }, () => chained(1));
