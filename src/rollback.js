// Undoes what a run did: params.steps, in their order. A step that fails keeps no other from being
// made; what became of each is told.
export default async () => {
  const steps = [];
  for (const { n, tool, by, arguments: argument } of params.steps) {
    try {
      const call = by.split(".").reduce((found, part) => found[part], tools);
      steps.push({ n, tool, by, state: "undone", result: await call(argument) });
    } catch (error) {
      const { code, message } = error;
      const state = code === "HF_E1803" ? "unknown" : "failed";
      steps.push({ n, tool, by, state, error: { code, message } });
    }
  }
  const count = (state) => steps.filter((step) => step.state === state).length;
  return { undone: count("undone"), failed: steps.length - count("undone"), steps };
};
