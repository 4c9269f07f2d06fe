// Asking a worker whether it answers, and with which commit.
import { setTimeout as delay } from "node:timers/promises";
import { Problem, say } from "./log.mjs";

/** A first deploy's address can take a minute and more until every location has it. */
const ATTEMPTS = 30;
const PAUSE_MS = 3_000;
const REQUEST_TIMEOUT_MS = 10_000;

/** Pause between two tries; shorter in tests. */
export function healthPauseMs() {
  return Number(process.env.HOLDFAST_HEALTH_PAUSE_MS ?? PAUSE_MS);
}

/**
 * Asks until the answer is as wanted.
 *
 * @param {string} url
 * @param {(status: number, body: any) => string | undefined} objection What is wrong with an answer.
 */
export async function waitFor(url, objection) {
  for (let attempt = 1; ; attempt += 1) {
    const wrong = await ask(url, objection);
    if (wrong === undefined) return;
    if (attempt === ATTEMPTS) throw new Problem(`${url}: ${wrong} (asked ${ATTEMPTS} times)`);
    say(`${url}: ${wrong}, asking again`);
    await delay(healthPauseMs());
  }
}

/**
 * @param {string} url
 * @param {(status: number, body: any) => string | undefined} objection
 */
async function ask(url, objection) {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    let body = null;
    try {
      body = JSON.parse(text);
    } catch {
      // Not JSON: `objection` sees null.
    }
    return objection(response.status, body);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Waits until the worker answers with this commit.
 *
 * @param {string} url The worker's address.
 * @param {string} sha
 */
export async function waitForCommit(url, sha) {
  await waitFor(`${url}/health`, (status, body) => {
    if (status !== 200) return `status ${status}`;
    if (body?.ok !== true) return "it does not say that it is well";
    if (body.commitSha !== sha) return `it answers with commit ${body.commitSha}, wanted is ${sha}`;
    return undefined;
  });
}
