// Rule: the tunnel passes on what is not noise, to the configured server only, and hands back
// what that server says; whatever fails on the way is told honestly and never sent twice.
//
// The kinds of envelopes stand in tests/cases/sentry; here is what a case file cannot say.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { sleep, until } from "./harness.mjs";
import { TIMEOUT, envelope, start, startWithLossyServer } from "./sentry_stand.mjs";

const FAULT = { event_id: "9680658abdf7413ef2a746458761c60d", message: "D1 write failed" };
const NOISE = { event_id: "1e55d05b3bb5e7f95e1f2256be07081a", message: TIMEOUT };
const MIB = 1024 * 1024;

/** @type {import("./sentry_stand.mjs").Stand} */
let stand;
before(async () => {
  stand = await start({ vars: { SENTRY_TIMEOUT_MS: "1500" } });
});
after(() => stand.stop());
beforeEach(async () => {
  stand.tap.answer = undefined;
  stand.sent.length = 0;
  await stand.mock.clear();
});

/** @param {any} body @param {Record<string, string>} [headers] */
const post = (body, headers = {}, path = "/sentry-tunnel") => stand.post(path, { body, headers });

test("without a DSN there is no such route", async () => {
  const off = await start({ vars: { SENTRY_DSN: "" } });
  try {
    for (const method of ["POST", "GET"]) {
      const answer = await off.fetch("/sentry-tunnel", { method });
      assert.equal(answer.status, 404);
    }
    assert.equal((await off.post("/sentry-tunnel/api/1/envelope/", { body: "{}" })).status, 404);
    assert.deepEqual(off.sent, []);
  } finally {
    await off.stop();
  }
});

test("only POST is answered", async () => {
  const answer = await stand.fetch("/sentry-tunnel");
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.get("allow"), "POST");
});

test("a path with our project is a DSN's path, another project's is refused", async () => {
  const ours = "/sentry-tunnel/api/1/envelope/";
  assert.equal((await post(envelope(FAULT), {}, ours)).status, 200);
  assert.equal((await post(envelope(FAULT), {}, "/sentry-tunnel/api/2/envelope/")).status, 403);
  assert.equal((await post(envelope(FAULT), {}, `${ours}?sentry_key=public`)).status, 200);
  assert.equal((await post(envelope(FAULT), {}, `${ours}?sentry_key=other`)).status, 403);
  assert.equal((await post(envelope(FAULT), {}, `${ours}?sentry%5Fkey=other`)).status, 403);
  const { clients } = await stand.received();
  assert.deepEqual(
    clients.map(({ path, query }) => path + query),
    ["/api/1/envelope/", "/api/1/envelope/"],
  );
});

test("a chunked body without content-length passes, byte by byte if it must", async () => {
  const body = Buffer.from(envelope(FAULT));
  const answered = await new Promise((resolve, failed) => {
    const request = httpRequest(
      new URL("/sentry-tunnel", stand.url),
      { method: "POST", headers: { "transfer-encoding": "chunked" } },
      (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode));
      },
    );
    request.on("error", failed);
    for (const byte of body) request.write(Uint8Array.of(byte));
    request.end();
  });
  assert.equal(answered, 200);
  const { clients } = await stand.received();
  assert.equal(clients.length, 1);
  assert.equal(Buffer.from(clients[0]?.bodyBase64 ?? "", "base64").toString(), body.toString());
});

test("a body over 25 MiB is refused while it comes, however it comes", async () => {
  // What a server has not read when it answers can cost the client the answer, so no case here
  // leaves more unread than workerd reads on for.
  const head = '{}\n{"type":"attachment","length":30000000}\n';
  const over = Buffer.concat([Buffer.from(head), Buffer.alloc(25 * MIB - head.length + 1, 0x61)]);
  assert.equal(over.length, 25 * MIB + 1);
  /** @type {[string, Uint8Array, Record<string, string>][]} */
  const bodies = [
    ["not announced", over, { "transfer-encoding": "chunked" }],
    ["announced", new Uint8Array(), { "content-length": String(25 * MIB + 1) }],
    ["inflated", gzipSync(over), { "content-encoding": "gzip" }],
    ["a bomb", gzipSync(Buffer.alloc(60 * MIB)), { "content-encoding": "gzip" }],
    ["malformed as well", Buffer.alloc(25 * MIB + 1), { "transfer-encoding": "chunked" }],
  ];
  for (const [name, body, headers] of bodies) {
    assert.equal(await status(body, headers), 413, name);
  }
  assert.equal(await status(over.subarray(0, -1), { "transfer-encoding": "chunked" }), 400);
  assert.deepEqual(stand.sent, []);
});

/**
 * The status of the answer, which may come before everything is sent.
 *
 * @param {Uint8Array} body
 * @param {Record<string, string>} headers
 * @returns {Promise<number | undefined>}
 */
function status(body, headers) {
  return new Promise((answered, failed) => {
    const request = httpRequest(
      new URL("/sentry-tunnel", stand.url),
      { method: "POST", headers, agent: false },
      (answer) => {
        answered(answer.statusCode);
        request.destroy();
      },
    );
    request.on("error", failed);
    request.flushHeaders();
    if (body.length > 0) request.end(body);
  });
}

test("an envelope of 20 MB passes unchanged", async () => {
  const payload = Buffer.alloc(20_000_000);
  for (let i = 0; i < payload.length; i += 4) payload.writeUInt32LE((i * 2654435761) >>> 0, i);
  const head = `{"event_id":"${FAULT.event_id}"}\n{"type":"attachment","length":${payload.length}}\n`;
  const more = `\n{"type":"event"}\n${JSON.stringify(FAULT)}`;
  const body = Buffer.concat([Buffer.from(head), payload, Buffer.from(more)]);
  const patient = await start();
  for (const [bytes, headers] of /** @type {[any, Record<string, string>][]} */ ([
    [body, {}],
    [gzipSync(body, { level: 1 }), { "content-encoding": "gzip" }],
  ])) {
    await patient.mock.clear();
    const answer = await patient.post("/sentry-tunnel", { body: bytes, headers });
    assert.equal(answer.status, 200);
    const { clients } = await patient.received();
    assert.equal(clients.length, 1);
    assert.equal(clients[0]?.bytes, body.length);
    assert.equal(clients[0]?.sha256, createHash("sha256").update(body).digest("hex"));
    assert.equal(clients[0]?.headers["content-length"], String(body.length));
  }
  await patient.stop();
});

test("what was dropped out of a large envelope is cut out of its middle", async () => {
  const recording = `{"type":"replay_recording","length":3000000}\n${"r".repeat(3_000_000)}\n`;
  const attachment = `{"type":"attachment","length":2000000}\n${"a".repeat(2_000_000)}\n`;
  const session = '{"type":"session"}\n{"init":true}\n';
  const body = `{}\n${recording}${envelope(NOISE).slice(3)}${attachment}${session}`;
  assert.equal((await post(body)).status, 200);
  const left = `{}\n${recording}${session}`;
  const { clients } = await stand.received();
  assert.equal(clients[0]?.sha256, createHash("sha256").update(left).digest("hex"));
  const all = await until("the report", async () => {
    const { discarded } = await stand.received();
    return Object.keys(discarded).length > 0 && discarded;
  });
  assert.deepEqual(all, { "event_processor/attachment": 2_000_000, "event_processor/error": 1 });
});

test("the server's answer goes back: status, body, and of the headers four", async () => {
  for (const status of [200, 202, 400, 413, 429, 500, 503]) {
    await stand.mock.tell({
      status,
      body: '{"detail":"from above"}',
      headers: {
        "retry-after": "7",
        "x-sentry-rate-limits": "60:error:key",
        "x-sentry-error": "too much",
        "strict-transport-security": "max-age=1",
        "set-cookie": "a=b",
        "access-control-allow-origin": "*",
        server: "nginx",
      },
    });
    const answer = await post(envelope(FAULT));
    assert.equal(answer.status, status);
    assert.equal(await answer.text(), '{"detail":"from above"}');
    assert.equal(answer.headers.get("retry-after"), "7");
    assert.equal(answer.headers.get("x-sentry-rate-limits"), "60:error:key");
    assert.equal(answer.headers.get("x-sentry-error"), "too much");
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    for (const name of ["strict-transport-security", "set-cookie", "access-control-allow-origin"]) {
      assert.equal(answer.headers.get(name), null, name);
    }
    assert.equal(stand.sent.length, 1, "an answer is final");
    stand.sent.length = 0;
  }
});

test("an answer's body is handed back up to 64 KiB", async () => {
  await stand.mock.tell({ status: 400, body: "x".repeat(200_000) });
  assert.equal((await (await post(envelope(FAULT))).text()).length, 64 * 1024);
});

test("a redirect is not followed and not handed on", async () => {
  stand.tap.answer = () =>
    new Response(null, { status: 302, headers: { location: "http://attacker.example/" } });
  const answer = await post(envelope(FAULT));
  assert.equal(answer.status, 502);
  assert.equal(answer.headers.get("location"), null);
  assert.deepEqual(
    stand.sent.map(({ url }) => url),
    ["http://127.0.0.1:9100/api/1/envelope/"],
  );
});

test("no answer at all is tried once more with the same bytes, then it is a 502", async () => {
  const lossy = await startWithLossyServer((count) => count > 3);
  try {
    assert.equal((await lossy.post("/sentry-tunnel", envelope(FAULT))).status, 502);
    assert.deepEqual(lossy.bodies, [envelope(FAULT), envelope(FAULT)]);
    assert.equal((await lossy.post("/sentry-tunnel", envelope(FAULT))).status, 200);
    assert.equal(lossy.bodies.length, 4);
  } finally {
    await lossy.stop();
  }
});

test("a report that cannot be sent is not sent again, and its loss is no event", async () => {
  const lossy = await startWithLossyServer(() => false);
  try {
    assert.equal((await lossy.post("/sentry-tunnel", envelope(NOISE))).status, 200);
    assert.equal((await lossy.post("/sentry-tunnel", envelope(FAULT))).status, 502);
    await sleep(300);
    const types = lossy.bodies.map((body) => JSON.parse(body.split("\n")[1] ?? "").type);
    assert.deepEqual(types, ["client_report", "event", "event"]);
  } finally {
    await lossy.stop();
  }
});

test("a server that is silent is a 504 once the time is over", async () => {
  await stand.mock.tell({ status: 200, delayMs: 4000 });
  assert.equal((await post(envelope(FAULT))).status, 504);
  assert.equal(stand.sent.length, 1);
});

test("nothing that goes wrong in the tunnel becomes an event", async () => {
  stand.tap.answer = () => new Response("no", { status: 500 });
  await post(envelope(FAULT));
  stand.tap.answer = () => new Response(null, { status: 301, headers: { location: "/" } });
  await post(envelope(FAULT));
  await post("nonsense");
  stand.tap.answer = undefined;
  await sleep(200);
  const { clients, events, reports } = await stand.received();
  assert.deepEqual([clients.length, events.length, reports], [0, 0, 0]);
});

test("what is dropped while a report is on its way goes with the next", async () => {
  await stand.mock.tell({ delayMs: 400, times: 1 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(envelope(NOISE))));
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), `{"id":"${NOISE.event_id}"}`);
  }
  const { reports } = await until("all to be reported", async () => {
    const received = await stand.received();
    return received.discarded["event_processor/error"] === 20 && received;
  });
  assert.ok(reports < 20, `${reports} reports for 20 events`);
});

test("the client's address goes on only where that is switched on", async () => {
  await post(envelope(FAULT), {
    "cf-connecting-ip": "203.0.113.9",
    "user-agent": "ua/1",
    origin: "http://a",
  });
  const { clients } = await stand.received();
  assert.equal(clients[0]?.headers["x-sentry-forwarded-for"], undefined);
  assert.equal(clients[0]?.headers["user-agent"], "ua/1");
  assert.equal(clients[0]?.headers.origin, "http://a");
  const on = await start({ vars: { SENTRY_FORWARD_ADDRESS: "true" } });
  try {
    await on.post("/sentry-tunnel", {
      body: envelope(FAULT),
      headers: { "cf-connecting-ip": "203.0.113.9" },
    });
    const [got] = (await on.received()).clients;
    assert.match(got?.headers["x-sentry-forwarded-for"] ?? "", /\d/);
  } finally {
    await on.stop();
  }
});

test("a variable that cannot be used is named", async () => {
  const wrong = await start({ vars: { SENTRY_DSN: "https://key@host/sentry-tunnel/1" } });
  try {
    const answer = await wrong.post("/sentry-tunnel", { body: "{}" });
    assert.equal(answer.status, 503);
    const { error } = /** @type {any} */ (await answer.json());
    assert.equal(error.kind, "configuration_invalid");
    assert.match(error.message, /^SENTRY_DSN: /);
  } finally {
    await wrong.stop();
  }
});
