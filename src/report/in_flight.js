// Requests in flight on the Wasm instance, and what they are answered when it dies.
//
// A panic ends the instance and the Rust half of every request on it; their promises never
// settle. `panic.js` says so through `globalThis`, with answers of the catalogue that Rust made
// beforehand. The request that panicked is answered as a fault of ours, all others as a sandbox
// that is gone: they did nothing wrong and know nothing of how far they came.
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * @typedef {{ status: number, code: string, body: string }} Refusal
 * @typedef {{ own: Refusal, others: Refusal }} Refusals
 * @typedef {{ end(refusal: Refusal): void }} Request
 */

/** @type {AsyncLocalStorage<Request>} */
const current = new AsyncLocalStorage();

/** @type {Set<Request>} */
const requests = new Set();

/** @type {any} */ (globalThis).holdfastPanicked = (/** @type {Refusals} */ { own, others }) => {
  const panicked = current.getStore();
  for (const request of requests) request.end(request === panicked ? own : others);
  requests.clear();
};

/**
 * What `work` answers, or the refusal, if the instance dies first.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | { refusal: Refusal }>}
 */
async function unlessPanicked(work) {
  /** @type {Refusal | undefined} */
  let told;
  /** @type {Request} */
  let request = { end() {} };
  /** @type {Promise<{ refusal: Refusal }>} */
  const ended = new Promise((resolve) => {
    request = {
      end(refusal) {
        told = refusal;
        resolve({ refusal });
      },
    };
  });
  requests.add(request);
  try {
    return await Promise.race([ended, current.run(request, work)]);
  } catch (thrown) {
    if (told !== undefined) return { refusal: told };
    throw thrown;
  } finally {
    requests.delete(request);
  }
}

/**
 * Answers an HTTP request.
 * @param {() => Promise<Response>} work
 * @returns {Promise<Response>}
 */
export async function answered(work) {
  const answer = await unlessPanicked(work);
  if (answer instanceof Response) return answer;
  const { status, code, body } = answer.refusal;
  return new Response(body, {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-holdfast-code": code,
    },
  });
}

/**
 * Answers a call; throws when the instance dies first.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function called(work) {
  const answer = await unlessPanicked(work);
  if (answer !== null && typeof answer === "object" && "refusal" in answer) {
    throw new Error(`${answer.refusal.code}: the Wasm instance is gone`);
  }
  return answer;
}
