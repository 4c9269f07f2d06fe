// Runs one guarded program and tells whether the guard ended it.
import { parentPort, workerData } from "node:worker_threads";
import { createGuard } from "./guard.mjs";
import { load } from "./prepare.mjs";

const tell = parentPort?.postMessage.bind(parentPort);
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
const factory = await load(workerData.module);
const { guard, failed } = createGuard({ budgetMs: workerData.budgetMs });
// What the program does with the error does not matter: the guard knows that the time is up.
const poll = setInterval(() => failed() && tell?.({ ended: true }), 20);
const runtime = { params: {}, tools: {} };
factory(guard, runtime)()
  .then(
    (value) => JSON.stringify(value),
    (error) => `threw ${error}`,
  )
  .then((outcome) => {
    clearInterval(poll);
    tell?.(failed() ? { ended: true } : { ended: false, outcome });
  });
