// A reporter of node:test that says one line at the end: how many passed and failed, and which
// were skipped, as JSON for scripts/test.mjs. The spec reporter beside it is for people.

/** Begins the line, so that it is found among what tests print. */
export const COUNTED = "holdfast-counted ";

/** @param {AsyncIterable<{type: string, data: any}>} events */
export default async function* count(events) {
  const counts = { passed: 0, failed: 0, skipped: /** @type {string[]} */ ([]) };
  for await (const { type, data } of events) {
    if (data.details?.type === "suite") continue;
    // `skip` and `todo` are true or the reason; an empty reason is one, too.
    const reason = data.skip ?? data.todo;
    if (reason !== undefined && reason !== false && /^test:(pass|fail)$/.test(type)) {
      counts.skipped.push(reason === true ? data.name : `${data.name}: ${reason}`);
    } else if (type === "test:pass") {
      counts.passed += 1;
    } else if (type === "test:fail") {
      counts.failed += 1;
    }
  }
  yield `${COUNTED}${JSON.stringify(counts)}\n`;
}
