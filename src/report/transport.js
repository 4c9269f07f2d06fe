// One POST to the Sentry server. Redirects are not followed: a fixed host that redirects would
// be enough to send a request anywhere.

/** Bytes of an answer's body that are read. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Headers of an answer that are looked at or handed on. */
const HEADERS = ["content-type", "retry-after", "x-sentry-rate-limits", "x-sentry-error"];

/**
 * 32 random hex digits.
 * @returns {string}
 */
export function eventId() {
  return crypto.randomUUID().replaceAll("-", "");
}

/**
 * Answers with the status, the headers above (`undefined` where one is missing) and the body.
 * Throws when there is no answer, a `TimeoutError` when that took too long.
 * @param {string} url
 * @param {string[]} headers name, value, name, value, …
 * @param {BodyInit} body
 * @param {number} timeoutMs
 * @returns {Promise<[string, (string | undefined)[], Uint8Array]>}
 */
export async function post(url, headers, body, timeoutMs) {
  /** @type {[string, string][]} */
  const pairs = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    pairs.push([headers[i] ?? "", headers[i + 1] ?? ""]);
  }
  const answer = await fetch(url, {
    method: "POST",
    headers: pairs,
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  });
  const kept = HEADERS.map((name) => answer.headers.get(name) ?? undefined);
  return [String(answer.status), kept, await head(answer.body)];
}

/**
 * The first bytes of a body. One that breaks off ends there: the status is what counts.
 * @param {ReadableStream<Uint8Array> | null} stream
 * @returns {Promise<Uint8Array>}
 */
async function head(stream) {
  const bytes = new Uint8Array(MAX_ANSWER_BYTES);
  let length = 0;
  if (stream !== null) {
    const reader = stream.getReader();
    try {
      while (length < MAX_ANSWER_BYTES) {
        const { done, value } = await reader.read();
        if (done) break;
        const part = value.subarray(0, MAX_ANSWER_BYTES - length);
        bytes.set(part, length);
        length += part.byteLength;
      }
    } catch {
      // Broken off.
    }
    await reader.cancel().catch(() => {});
  }
  return bytes.slice(0, length);
}
