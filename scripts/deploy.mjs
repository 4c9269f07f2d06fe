// npm run deploy: brings this checkout into production, from nothing or from any earlier state.
//
// Creates the D1 database where there is none, applies migrations, deploys, sets the secrets that
// are missing, waits until /health answers with the commit. Safe to run again: what is as it
// should be is left alone. docs/operate.md tells the first deploy step by step.
import { parseArgs } from "node:util";
import { checkCommand, deployCommand } from "./lib/cloud/commands.mjs";
import { Problem, runCommand, say } from "./lib/cloud/log.mjs";
import { targetOf } from "./lib/cloud/target.mjs";

const HELP = `npm run deploy -- [options]

  --sha SHA       the commit; the checkout's HEAD unless told
  --dry-run       say what would be done, and change nothing
  --no-build      leave wrangler.toml's [build] out: the worker is built already
  --project DIR   the folder with wrangler.toml; this checkout unless told

CLOUDFLARE_API_TOKEN has to be set; docs/operate.md lists what else may be.`;

async function main() {
  const { values } = read();
  if (values.help) {
    say(HELP);
    return undefined;
  }
  const target = targetOf({
    ...(values.sha === undefined ? {} : { sha: values.sha }),
    ...(values.project === undefined ? {} : { project: values.project }),
    build: values["no-build"] !== true,
    dryRun: values["dry-run"] === true,
  });
  const { result, made } = await deployCommand(target);
  tellToken(made);
  await checkCommand(target);
  say(
    `Holdfast ${target.sha.slice(0, 12)} ${target.dryRun ? "would answer" : "answers"} at ${result.url}`,
  );
  return result;
}

function read() {
  try {
    return parseArgs({
      options: {
        sha: { type: "string" },
        project: { type: "string" },
        "dry-run": { type: "boolean" },
        "no-build": { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Problem(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Nothing can read a secret back, so a token that was made here is shown once, to a person at a
 * terminal and never to a log.
 *
 * @param {Record<string, string>} made
 */
function tellToken({ HOLDFAST_ADMIN_TOKEN: token }) {
  if (token === undefined || token === process.env.HOLDFAST_ADMIN_TOKEN) return;
  if (process.stderr.isTTY && !process.env.CI) {
    say(`HOLDFAST_ADMIN_TOKEN was made and is not shown again: ${token}`);
  } else {
    say(
      "HOLDFAST_ADMIN_TOKEN was made and is not shown in a log; to know it, set one of your own (docs/operate.md).",
    );
  }
}

await runCommand(main);
