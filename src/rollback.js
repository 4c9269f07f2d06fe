// Undoes what a run did: params.steps, in their order. A step that fails keeps no other from being
// made; what became of each is told.
import { params, tools } from "holdfast:runtime";

export default async () => {
  /** @type {{n: number, tool: string, by: string, state: string, result?: unknown, error?: unknown}[]} */
  const steps = [];
  for (const { n, tool, by, arguments: argument } of params.steps) {
    try {
      const call = by
        .split(".")
        .reduce((/** @type {any} */ found, /** @type {string} */ part) => found[part], tools);
      steps.push({ n, tool, by, state: "undone", result: await call(argument) });
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      const state = code === "HF_E1803" ? "unknown" : "failed";
      steps.push({ n, tool, by, state, error: { code, message } });
    }
  }
  const undone = steps.filter((step) => step.state === "undone").length;
  return { undone, failed: steps.length - undone, steps };
};
