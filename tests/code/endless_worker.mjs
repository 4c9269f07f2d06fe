// Runs one guarded program and tells whether the guard ended it.
import { parentPort, workerData } from "node:worker_threads";
import { createGuard } from "./guard.mjs";
import { load } from "./prepare.mjs";

const tell = parentPort?.postMessage.bind(parentPort);
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
const factory = await load(workerData.module);
// Told from within the tick: what the program does with the error does not matter.
const guard = createGuard({ budgetMs: workerData.budgetMs, ended: () => tell?.({ ended: true }) });
const runtime = { params: {}, tools: {}, setTimeout, queueMicrotask };
factory(guard, runtime)().then(
  (value) => tell?.({ ended: false, outcome: JSON.stringify(value) }),
  (error) => tell?.({ ended: false, outcome: `threw ${error}` }),
);
