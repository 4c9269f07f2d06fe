// JSON over HTTP with retries, for the Cloudflare and the GitHub API.
//
// 429 and 5xx are tried again, and so is a request that got no answer; 401, 403 and every other
// refusal are not: they will not change. A request may have been carried out although its answer
// was a failure (504 after the fact), so whoever creates something looks for it before he takes
// "already exists" for an error.
import { setTimeout as delay } from "node:timers/promises";
import { Problem, say } from "./log.mjs";

/** Tries in all. With the first pause of 1 s: 1 + 2 + 4 + 8 = 15 s of waiting at most. */
export const ATTEMPTS = 5;

/** A `Retry-After` above this is not waited for. */
const MAX_RETRY_AFTER_MS = 60_000;

/** A request without an answer for so long is tried again. */
const REQUEST_TIMEOUT_MS = 60_000;

/** A refusal or a failure of an API, after the retries. */
export class ApiError extends Problem {
  /**
   * @param {string} what Method and path.
   * @param {number} status 0 when there was no answer.
   * @param {number | undefined} code
   * @param {string} message
   */
  constructor(what, status, code, message) {
    super(
      `${what}: ${status === 0 ? "no answer" : status}${code === undefined ? "" : ` [code: ${code}]`} ${message}`,
    );
    this.status = status;
    this.code = code;
  }
}

/** The first pause between two tries, in milliseconds; each further one is twice as long. */
function firstPauseMs() {
  return Number(process.env.HOLDFAST_RETRY_MS ?? 1_000);
}

/**
 * @param {number} status 0 when there was no answer.
 */
export function isRetryable(status) {
  return status === 0 || status === 429 || status >= 500;
}

/**
 * How long to wait before the next try.
 *
 * @param {number} attempt From 1.
 * @param {string | null} retryAfter The header, in seconds.
 * @param {number} random Between 0 and 1.
 * @returns {number | undefined} Milliseconds; nothing when it is not worth it.
 */
export function pauseMs(attempt, retryAfter, random = Math.random()) {
  const asked = Number(retryAfter ?? Number.NaN) * 1_000;
  if (asked > MAX_RETRY_AFTER_MS) return undefined;
  const own = firstPauseMs() * 2 ** (attempt - 1) * (1 + random / 4);
  return Number.isFinite(asked) ? Math.max(asked, own) : own;
}

/**
 * @typedef {{method?: string, headers?: Record<string, string>, body?: unknown, attempts?: number}} Options
 *   `attempts`: 1 for a request that must not be made twice without a look at what the first did.
 * @typedef {(status: number, body: any) => {code?: number, message: string}} Explain Reads a failure's body.
 */

/**
 * @param {string} url
 * @param {Options} options
 * @param {Explain} explain
 * @returns {Promise<{body: any, headers: Headers}>}
 */
export async function requestJson(url, options, explain) {
  const what = `${options.method ?? "GET"} ${new URL(url).pathname}`;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(url, options);
    if (answer.ok) return answer;
    const { status, headers, body, why } = answer;
    const failure = status === 0 ? { message: why } : explain(status, body);
    const mayTryAgain = attempt < (options.attempts ?? ATTEMPTS) && isRetryable(status);
    const pause = mayTryAgain ? pauseMs(attempt, headers.get("retry-after")) : undefined;
    if (pause === undefined) throw new ApiError(what, status, failure.code, failure.message);
    say(`${what}: ${status || failure.message}, trying again in ${Math.round(pause)} ms`);
    await delay(pause);
  }
}

/**
 * One try. An answer that broke off counts as none.
 *
 * @param {string} url
 * @param {Options} options
 * @returns {Promise<{ok: boolean, status: number, headers: Headers, body: any, why: string}>}
 */
async function ask(url, { method = "GET", headers = {}, body }) {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { ok, status, headers: answered } = response;
    return { ok, status, headers: answered, body: parse(await response.text()), why: "" };
  } catch (error) {
    return { ok: false, status: 0, headers: new Headers(), body: null, why: reason(error) };
  }
}

/** @param {string} text */
function parse(text) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

/** @param {unknown} error */
function reason(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
