// What the deploy scripts say: logs on stderr, the result as JSON on stdout.

/**
 * Something that whoever runs the script can mend: printed without a stack.
 */
export class Problem extends Error {}

/** @param {string} text */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** @param {unknown} result */
export function printResult(result) {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
}

/**
 * Runs a command to its end: a Problem is told in one line, anything else with its stack, and the
 * exit code is 1 for both.
 *
 * @param {() => Promise<unknown>} command What it returns is the result; nothing prints nothing.
 */
export async function runCommand(command) {
  try {
    const result = await command();
    if (result !== undefined) printResult(result);
  } catch (error) {
    process.exitCode = 1;
    say(
      error instanceof Problem
        ? `error: ${error.message}`
        : String(/** @type {any} */ (error)?.stack ?? error),
    );
  }
}
