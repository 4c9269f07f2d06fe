// What becomes of a Rust panic: a report to Sentry, and word to every request in flight.
//
// A panic ends the Wasm instance, and with it the Rust half of every request that it was
// serving. This file is all that is left then. The report is sent from here, by a promise that
// is not the instance's; where to was told beforehand. The requests learn of it through
// `globalThis`, because the entry shell is another bundle's module and sees no other part of
// this one.
import { waitUntil } from "cloudflare:workers";

/** Most reports of one isolate in a minute: a panic on every request must not become a flood. */
const MAX_REPORTS_A_MINUTE = 5;

/** @typedef {{ url: string, auth: string, environment: string, release: string,
 *    sdk: { name: string, version: string } }} Target */

/** What requests in flight are answered; `{correlation}` stands for the report's id.
 *  @typedef {import("./in_flight.js").Refusals} Refusals */

/** @type {Target | undefined} */
let target;
/** @type {Refusals | undefined} */
let refusals;
let minute = 0;
let sent = 0;
let pausedUntil = 0;

/**
 * Says where reports go.
 * @param {string} url
 * @param {string} auth
 * @param {string} environment
 * @param {string} release
 * @param {string} name
 * @param {string} version
 */
export function aim(url, auth, environment, release, name, version) {
  target = { url, auth, environment, release, sdk: { name, version } };
}

/**
 * Says what requests in flight are answered.
 * @param {string} json {@link Refusals}
 */
export function prepare(json) {
  refusals = JSON.parse(json);
}

/**
 * Sends the report, and tells the requests in flight.
 * @param {string} message
 * @param {string} file
 * @param {number} line
 * @param {number} column
 */
export function panicked(message, file, line, column) {
  const id = crypto.randomUUID().replaceAll("-", "");
  console.error(`panic ${id}: ${message} (${file}:${line}:${column})`);
  try {
    report(id, message, file, line, column);
  } catch (error) {
    console.warn("sentry: a panic could not be reported", error);
  }
  if (refusals === undefined) return;
  const { own, others } = refusals;
  const named = { ...own, body: own.body.replaceAll("{correlation}", id) };
  /** @type {any} */ (globalThis).holdfastPanicked?.({ own: named, others });
}

/**
 * @param {string} event_id
 * @param {string} message
 * @param {string} file
 * @param {number} line
 * @param {number} column
 */
function report(event_id, message, file, line, column) {
  if (target === undefined || !mayReport(Date.now())) return;
  const sent_at = new Date().toISOString();
  const event = JSON.stringify({
    event_id,
    timestamp: sent_at,
    platform: "other",
    level: "fatal",
    logger: target.sdk.name,
    environment: target.environment,
    ...(target.release === "" ? {} : { release: target.release }),
    sdk: target.sdk,
    tags: { kind: "panic", correlation: event_id },
    fingerprint: ["panic", `${file}:${line}`],
    exception: {
      values: [
        {
          type: "panic",
          value: message.slice(0, 8000) || "(no message)",
          mechanism: { type: "panic", handled: false },
          stacktrace: {
            frames: [
              { filename: file, function: "panic", lineno: line, colno: column, in_app: true },
            ],
          },
        },
      ],
    },
  });
  const header = JSON.stringify({ event_id, sent_at, sdk: target.sdk });
  const length = new TextEncoder().encode(event).byteLength;
  // The request that panicked is answered at once; what it has begun must not end with it.
  waitUntil(post(target, `${header}\n{"type":"event","length":${length}}\n${event}\n`));
}

/**
 * @param {number} now
 * @returns {boolean}
 */
function mayReport(now) {
  if (now < pausedUntil) return false;
  if (Math.floor(now / 60_000) !== minute) {
    minute = Math.floor(now / 60_000);
    sent = 0;
  }
  sent += 1;
  return sent <= MAX_REPORTS_A_MINUTE;
}

/**
 * @param {Target} to
 * @param {string} body
 */
async function post(to, body) {
  try {
    const answer = await fetch(to.url, {
      method: "POST",
      headers: { "content-type": "application/x-sentry-envelope", "x-sentry-auth": to.auth },
      body,
      redirect: "manual",
    });
    await answer.body?.cancel();
    if (answer.status === 429) {
      const seconds = Number(answer.headers.get("retry-after") ?? 60);
      pausedUntil = Date.now() + 1000 * (Number.isFinite(seconds) ? Math.min(seconds, 86_400) : 60);
    }
  } catch (error) {
    console.warn("sentry: a panic could not be reported", error);
  }
}
