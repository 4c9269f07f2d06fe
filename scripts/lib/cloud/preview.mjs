// The command line of scripts/preview.
import { parseArgs } from "node:util";
import {
  checkCommand,
  cleanupCommand,
  commentCommand,
  deployCommand,
  ensureCommand,
  seedCommand,
  sweepCommand,
} from "./commands.mjs";
import { Problem, runCommand, say } from "./log.mjs";
import { targetOf } from "./target.mjs";

const HELP = `scripts/preview <command> --pr N [options]

  ensure    find or create the preview's D1 database and KV namespaces
  deploy    ensure, then its mocks, its migrations, its worker, secrets that are missing
  seed      give it its seed data, once
  check     wait until it answers with the commit, and its mocks answer
  comment   write or update the pull request's comment (--status deploying|ready|failed|removed)
  cleanup   remove everything of it
  sweep     remove the previews of pull requests that are not open (no --pr)

  --pr N          the number of the pull request
  --sha SHA       the commit; the checkout's HEAD unless told
  --dry-run       say what would be done, and change nothing
  --no-build      leave wrangler.toml's [build] out: the worker is built, or needs no build
  --project DIR   the folder with wrangler.toml; this checkout unless told

Logs go to stderr, the result to stdout as JSON. docs/operate.md lists the environment variables.`;

/**
 * @param {string[]} argv
 */
async function main(argv) {
  const { values, positionals } = parse(argv);
  const [command, ...more] = positionals;
  if (values.help) {
    say(HELP);
    return undefined;
  }
  if (command === undefined) throw new Problem("which command? See scripts/preview --help");
  if (more.length > 0) throw new Problem(`too many words: ${more.join(" ")}`);
  const run = commands(values.status)[command];
  if (run === undefined) throw new Problem(`no such command: ${command}`);
  const pr = command === "sweep" ? undefined : pullRequest(values.pr);
  if (command === "comment") status(values.status);
  return run(
    targetOf({
      ...(pr === undefined ? {} : { pr }),
      ...(values.sha === undefined ? {} : { sha: values.sha }),
      ...(values.project === undefined ? {} : { project: values.project }),
      needsCommit: !["ensure", "cleanup", "sweep"].includes(command),
      build: values["no-build"] !== true,
      dryRun: values["dry-run"] === true,
    }),
  );
}

/**
 * @param {string | undefined} asked
 * @returns {Record<string, (target: import("./target.mjs").Target) => Promise<unknown>>}
 */
function commands(asked) {
  return {
    ensure: ensureCommand,
    deploy: async (target) => (await deployCommand(target)).result,
    seed: seedCommand,
    check: checkCommand,
    comment: (target) => commentCommand(target, status(asked)),
    cleanup: async (target) => failIfLeft(await cleanupCommand(target)),
    sweep: async (target) => failIfLeft(await sweepCommand(target)),
  };
}

/** @param {string[]} argv */
function parse(argv) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        pr: { type: "string" },
        sha: { type: "string" },
        status: { type: "string" },
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
 * @param {string | undefined} text
 * @returns {number}
 */
function pullRequest(text) {
  const pr = Number(text);
  if (text === undefined || !/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(pr)) {
    throw new Problem(
      `--pr has to be the number of a pull request, not ${JSON.stringify(text ?? "nothing")}`,
    );
  }
  return pr;
}

/**
 * @param {string | undefined} text
 * @returns {import("./comment.mjs").Status}
 */
function status(text) {
  if (text === "deploying" || text === "ready" || text === "failed" || text === "removed") {
    return text;
  }
  throw new Problem("--status has to be deploying, ready, failed or removed");
}

/**
 * @template {{failures: unknown[], left: string[], dryRun?: boolean}} R
 * @param {R} result
 * @returns {R}
 */
function failIfLeft(result) {
  if (!result.dryRun && (result.failures.length > 0 || result.left.length > 0)) {
    process.exitCode = 1;
  }
  return result;
}

await runCommand(() => main(process.argv.slice(2)));
