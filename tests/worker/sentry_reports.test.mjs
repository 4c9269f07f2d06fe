// Rule: an error of ours is reported after the answer, once, without secrets, and a panic is
// reported although it ends the instance; neither can feed itself.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { sleep, until } from "./harness.mjs";
import { TIMEOUT, start, startWithLossyServer } from "./sentry_stand.mjs";

/** @type {import("./sentry_stand.mjs").Stand} */
let stand;
before(async () => {
  stand = await start({ vars: { SENTRY_ENVIRONMENT: "preview", COMMIT_SHA: "0123abc" } });
});
after(() => stand.stop());
beforeEach(async () => {
  stand.tap.answer = undefined;
  stand.sent.length = 0;
  await stand.mock.clear();
});

/** @param {Record<string, unknown>} body */
const report = (body, on = stand) =>
  on.post("/sentry-probe/report", {
    body: JSON.stringify({ code: "HF_E1701", kind: "storage_error", message: "x", ...body }),
  });

/** @param {number} count */
const events = (count, on = stand) =>
  until(`${count} events`, async () => {
    const received = await on.received();
    return received.events.length >= count && received.events.map(({ json }) => json);
  });

test("an error arrives with its chain, its place, its tags and no secret", async () => {
  const answer = await report({
    code: "HF_E1702",
    message: "The record could not be written with probe-secret",
    causes: [{ name: "D1Error", message: "Authorization: Bearer abcdefgh1234" }],
    surface: "execute",
    runtime: "dynamic_worker",
    line: 3,
  });
  assert.equal(answer.status, 200);
  const [event] = await events(1);
  assert.equal(event.release, "0123abc");
  assert.equal(event.environment, "preview");
  assert.deepEqual(event.fingerprint, ["HF_E1702"]);
  assert.equal(event.tags.surface, "execute");
  assert.deepEqual(
    event.exception.values.map((/** @type {any} */ { value }) => value),
    ["Authorization: [redacted]", "The record could not be written with [redacted]"],
  );
  assert.equal(event.exception.values[1].stacktrace.frames[0].lineno, 3);
  const [raw] = await stand.mock.read();
  const text = Buffer.from(raw?.bodyBase64 ?? "", "base64").toString();
  assert.doesNotMatch(text, /probe-secret|abcdefgh1234/);
  assert.equal(raw?.header.event_id, event.event_id);
});

test("a spent budget is not reported but counted", async () => {
  await report({ code: "HF_E1302", kind: "timed_out", message: TIMEOUT });
  const { discarded } = await until("the report", async () => {
    const received = await stand.received();
    return received.reports > 0 && received;
  });
  assert.deepEqual(discarded, { "event_processor/error": 1 });
  assert.deepEqual((await stand.received()).events, []);
});

test("a server that takes its time slows no answer", async () => {
  /** @type {PromiseWithResolvers<undefined>} */
  const { promise: held, resolve: letGo } = Promise.withResolvers();
  stand.tap.answer = () => held;
  const answer = await report({ code: "slow" });
  assert.equal(answer.status, 200, "answered while the server says nothing");
  assert.equal(await answer.text(), "reported");
  letGo(undefined);
  assert.equal((await events(1)).length, 1);
});

test("a server that cannot be reached fails no answer, and gets the same bytes twice", async () => {
  const lossy = await startWithLossyServer((count) => count > 2);
  try {
    const body = JSON.stringify({ code: "HF_E1701", kind: "storage_error", message: "x" });
    assert.equal((await lossy.post("/sentry-probe/report", body)).status, 200);
    // Two tries of the event, then the report that it was lost.
    await until("three requests", async () => lossy.bodies.length >= 3);
    assert.equal(lossy.bodies[0], lossy.bodies[1], "the same bytes, so the same id");
    assert.match(
      lossy.bodies[2] ?? "",
      /"reason":"network_error","category":"error","quantity":1}/,
    );
  } finally {
    await lossy.stop();
  }
});

test("a rate limit on any status is obeyed", async () => {
  const fresh = await start();
  try {
    await fresh.mock.tell({ headers: { "x-sentry-rate-limits": "60:error:key" } });
    await report({ code: "first" }, fresh);
    await events(1, fresh);
    await sleep(100);
    await report({ code: "second" }, fresh);
    await until("the loss to be reported", async () => {
      const { discarded } = await fresh.received();
      return discarded["ratelimit_backoff/error"] === 1;
    });
    assert.equal((await fresh.received()).events.length, 1);
  } finally {
    await fresh.stop();
  }
});

test("a loop of errors is sent a few times and then counted", async () => {
  const fresh = await start();
  try {
    for (let n = 0; n < 40; n += 1) await report({ code: "HF_E1099" }, fresh);
    const discarded = await until("the rest to be counted", async () => {
      const received = await fresh.received();
      return received.discarded["queue_overflow/error"] === 35 && received;
    });
    assert.equal(discarded.events.length, 5);
  } finally {
    await fresh.stop();
  }
});

test("with a sample rate of nothing, nothing is sent and all is counted", async () => {
  const none = await start({ vars: { SENTRY_SAMPLE_RATE: "0" } });
  try {
    await report({}, none);
    await until(
      "the count",
      async () => (await none.received()).discarded["sample_rate/error"] === 1,
    );
    assert.deepEqual((await none.received()).events, []);
  } finally {
    await none.stop();
  }
});

test("without a DSN nothing is sent", async () => {
  const off = await start({ vars: { SENTRY_DSN: "" } });
  try {
    assert.equal((await report({}, off)).status, 200);
    assert.equal((await off.post("/sentry-probe/panic")).status, 500);
    await sleep(200);
    assert.deepEqual(off.sent, []);
  } finally {
    await off.stop();
  }
});

test("a panic is answered and reported, its neighbour's sandbox is gone, the next is served", async () => {
  const slow = stand.post("/sentry-probe/slow");
  await sleep(200);
  const panicked = await stand.post("/sentry-probe/panic");
  assert.equal(panicked.status, 500);
  assert.equal(panicked.headers.get("x-holdfast-code"), "HF_E1099");
  const { error } = /** @type {any} */ (await panicked.json());
  assert.equal(error.kind, "internal_error");
  const neighbour = await slow;
  assert.equal(neighbour.status, 503);
  assert.equal(/** @type {any} */ (await neighbour.json()).error.kind, "sandbox_gone");
  assert.equal((await stand.fetch("/health")).status, 200);

  const event = await until("the panic's event", async () => {
    const { events: all } = await stand.received();
    return all.map(({ json }) => json).find(({ level }) => level === "fatal");
  });
  assert.equal(event.event_id, error.correlationId, "the caller's id finds the event");
  assert.equal(event.release, "0123abc");
  assert.equal(event.exception.values[0].value, "boom with token=[redacted]");
  assert.match(event.exception.values[0].stacktrace.frames[0].filename, /^src\/report\/probe\.rs$/);
});

test("panics on every request are reported a few times a minute", async () => {
  const fresh = await start();
  try {
    for (let n = 0; n < 12; n += 1) {
      assert.equal((await fresh.post("/sentry-probe/panic")).status, 500);
    }
    await sleep(300);
    const { events: all } = await fresh.received();
    // A minute may turn over in between.
    assert.ok(all.length >= 5 && all.length <= 10, `${all.length} events`);
  } finally {
    await fresh.stop();
  }
});

test("the probe's routes are not there unless they are switched on", async () => {
  const off = await start({ vars: { SENTRY_PROBE: "" } });
  try {
    for (const name of ["report", "panic", "slow"]) {
      assert.equal((await off.post(`/sentry-probe/${name}`, { body: "{}" })).status, 404);
    }
  } finally {
    await off.stop();
  }
});
