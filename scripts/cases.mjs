// Runs cases of how a sandbox behaves against the worker in workerd.
//
//   npm run cases -- FOLDER | FILE… [--only TEXT] [--cancel hang-up | request]
//
// A case is described in tests/cases/sandbox/README.md. --only takes the cases whose name has the
// text. One line a file, and one for whatever failed or was skipped, with what was expected and
// what came.
import fs from "node:fs";
import path from "node:path";
import { build } from "./build.mjs";
import { Refusal, options, script } from "./lib/command.mjs";

const USAGE = "usage: npm run cases -- FOLDER | FILE… [--only TEXT] [--cancel hang-up | request]";

await script(import.meta.url, async () => {
  const { values, positionals } = options(
    { only: { type: "string" }, cancel: { type: "string" } },
    { usage: USAGE, positionals: true },
  );
  const { only = "", cancel = "hang-up" } = values;
  if (cancel !== "hang-up" && cancel !== "request") throw new Refusal(USAGE);
  if (positionals.length === 0) throw new Refusal(USAGE);
  const missing = positionals.find((place) => !fs.existsSync(place));
  if (missing !== undefined) throw new Refusal(`${missing} does not exist.`);
  await build({ fast: true });

  // Not before the set-up: they import the node modules.
  const { readCases } = await import("../tests/worker/cases/case.mjs");
  const { runCases } = await import("../tests/worker/cases/runner.mjs");
  const { overHttp } = await import("../tests/worker/cases/over-http.mjs");
  const files = positionals
    .flatMap(readCases)
    .map(({ file, cases }) => ({
      file,
      cases: cases.filter(({ name }) => name.includes(only)),
    }))
    .filter(({ cases }) => cases.length > 0);
  if (files.length === 0) throw new Refusal("There is no case there.");

  const began = Date.now();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const sandbox = await overHttp({ cancelBy: cancel });
  try {
    for (const { file, cases } of files) {
      const fileBegan = Date.now();
      const verdicts = await runCases(sandbox, cases);
      const lines = [];
      const own = { passed: 0, failed: 0, skipped: 0 };
      for (const [index, { name, result, reasons }] of verdicts.entries()) {
        const isOurs = index === cases.length; // the run that shows that the next one works
        if (!isOurs || result !== "passed") own[result] += 1;
        if (result !== "passed") lines.push(`  ${result}  ${name}: ${reasons.join("; ")}`);
      }
      console.log(`${path.basename(file)}: ${said(own)}, ${seconds(fileBegan)}`);
      for (const line of lines) console.log(line);
      for (const result of /** @type {const} */ (["passed", "failed", "skipped"])) {
        counts[result] += own[result];
      }
    }
  } finally {
    await sandbox.stop();
  }
  console.log(`\n${seconds(began)}`);
  console.log(said(counts));
  if (counts.failed > 0) process.exitCode = 1;
});

/** @param {{passed: number, failed: number, skipped: number}} counts */
function said({ passed, failed, skipped }) {
  const tail = skipped > 0 ? `, ${skipped} skipped` : "";
  return `${passed} passed, ${failed} failed${tail}`;
}

/** @param {number} since */
function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
