// Rule: a program that is parked and resumed in a fresh sub-worker goes on as if nothing had happened, with everything
// it can read from the platform; one that takes another way is told apart at once. In workerd.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asProgram } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

const TOOLS = { echo: { echo: true }, gated: { echo: true }, fail: { throws: "tool broke" } };
let runs = 0;

/**
 * Runs, answers every question with `to`, resumes until the end.
 *
 * @param {string} body
 * @param {{ to?: string, oneAtATime?: boolean, tools?: any, invocation?: any }} [options]
 */
async function through(
  body,
  { to = "allow", oneAtATime = false, tools = {}, invocation = {} } = {},
) {
  const id = `run${runs++}`;
  const order = {
    id,
    program: asProgram(body),
    tools: { ...TOOLS, ...tools },
    gated: ["gated"],
    invocation,
  };
  const answered = new Set();
  let answer = await workerd.post("/run", order);
  for (let attempts = 1; answer.end?.end === "parked"; attempts++) {
    assert.ok(attempts < 30);
    for (const n of answer.asked) {
      if (answered.has(n)) continue;
      answered.add(n);
      await workerd.post("/decide", { id, n, to });
      if (oneAtATime) break;
    }
    await new Promise((resolve) => setTimeout(resolve, 30)); // A person's time.
    answer = await workerd.post("/run", order);
  }
  return answer;
}

/**
 * The value of a program that finished.
 *
 * @param {string} body
 * @param {Parameters<typeof through>[1]} [options]
 */
async function valueOf(body, options) {
  const { end, error } = await through(body, options);
  assert.equal(end?.end, "finished", JSON.stringify(end ?? error));
  return end.value;
}

test("calls in order", async () => {
  const answer = await through(`
    const a = await tools.echo({ x: 1 });
    const b = await tools.gated({ a });
    const c = await tools.gated({ b });
    return [a.x, c.b.a.x];`);
  assert.deepEqual(answer.end.value, [1, 1]);
  assert.equal(answer.attempts, 3);
  assert.deepEqual(answer.started, { echo: 1, gated: 2 });
});

test("randomness, ids, bytes, dates and program time", async () => {
  const value = await valueOf(`
    const draw = () => [
      Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))], Date.now(), +new Date(),
      performance.now(), new Date().constructor === Date, +new (new Date().constructor)(),
      Intl.DateTimeFormat("en", { timeStyle: "full" }).format(), Date().slice(0, 15), performance.timeOrigin,
      new Intl.DateTimeFormat("en", { dateStyle: "full" }).formatToParts().length,
    ];
    const a = draw();
    const g = await tools.gated({ a });
    const b = draw();
    await tools.gated({ b });
    return { same: JSON.stringify(g.a) === JSON.stringify(a), jump: b[3] - a[3], passed: b[5] - a[5],
      ours: a[6] && a[3] === a[4] && a[3] === a[7] && a[3] === a[10], fresh: a[0] !== b[0] && a[1] !== b[1] };`);
  assert.ok(value.same && value.ours && value.fresh, JSON.stringify(value));
  assert.ok(
    value.jump >= 30 && value.passed < 30,
    `the date jumps by ${value.jump}, program time by ${value.passed}`,
  );
});

test("all, with one decision at a time", async () => {
  const value = await valueOf(
    `let s = 0;
    return Promise.all([1, 2, 3].map(async (i) => {
      await sleep(10 - i);
      const g = await tools.gated({ i, s: s++ });
      return [g.i, g.s, s++];
    }));`,
    { oneAtATime: true },
  );
  assert.deepEqual(
    value.map((/** @type {any} */ [i]) => i),
    [1, 2, 3],
  );
});

test("race, any and allSettled", async () => {
  const value = await valueOf(`
    const after = (ms, v) => sleep(ms).then(() => v);
    const a = await Promise.race([after(30, "slow"), after(5, "quick"), tools.gated({ r: 1 }).then(() => "gated")]);
    const b = await Promise.any([tools.fail({}), after(15, "any")]);
    const c = (await Promise.allSettled([tools.fail({}), tools.gated({ s: 1 })])).map((x) => x.status);
    return [a, b, c];`);
  assert.deepEqual(value, ["quick", "any", ["rejected", "fulfilled"]]);
});

test("the program's own timeout of a call does not count people's time", async () => {
  const value = await valueOf(
    `return Promise.race([tools.gated({}).then(() => "decided"), new Promise((r) => setTimeout(r, 2000, "gave up"))]);`,
  );
  assert.equal(value, "decided");
});

test("timers: cleared, repeated, aborted, waited for", async () => {
  const [live, told] = await valueOf(`
    const log = [];
    let c = 0;
    const i = setInterval(() => { log.push("i" + c); if (++c === 3) clearInterval(i); }, 3);
    const dead = setTimeout(() => log.push("never"), 8);
    setTimeout(() => clearTimeout(dead), 4);
    const t = AbortSignal.timeout(12);
    t.addEventListener("abort", () => log.push(t.reason.name));
    queueMicrotask(() => log.push("q"));
    await scheduler.wait(20);
    await sleep(2);
    const g = await tools.gated({ log });
    return [log.join(), g.log.join()];`);
  assert.equal(live, told);
  assert.match(live, /^q,i0/);
  assert.ok(!live.includes("never") && live.includes("TimeoutError"), live);
});

test("a declined call can be caught", async () => {
  const body = "try { await tools.gated({}); } catch (e) { return [e.name, e.tool]; }";
  assert.deepEqual(await valueOf(body, { to: "decline" }), ["Declined", "gated"]);
});

test("bodies and streams beside calls", async () => {
  const value = await valueOf(`
    let s = 0;
    const order = [];
    const text = async (n) => { order.push((await new Response("b" + n).text()) + s++); };
    const zip = async () => {
      const body = new Response("zip".repeat(100)).body.pipeThrough(new CompressionStream("gzip"));
      order.push("z" + s++ + (await new Response(body).arrayBuffer()).byteLength);
    };
    const chunks = async () => {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      const write = (async () => { await writer.write(new Uint8Array(2)); await writer.close(); })();
      let bytes = 0;
      for await (const chunk of readable) bytes += chunk.byteLength;
      await write;
      order.push("c" + s++ + bytes);
    };
    await Promise.all([
      text(1), sleep(1).then(() => order.push("w" + s++)), zip(), text(2), chunks(),
      tools.echo({}).then(() => order.push("e" + s++)),
      crypto.subtle.digest("SHA-256", new Uint8Array(3)).then(() => order.push("d" + s++)),
    ]);
    const g = await tools.gated({ order });
    return [g.order.join() === order.join(), order.length];`);
  assert.deepEqual(value, [true, 7]);
});

test("lines of what is replayed are not repeated", async () => {
  const { end, logs } = await through(`
    tools.fail({}).catch((e) => console.log("caught", e.message));
    tools.echo({ u: 1 }).then((x) => console.log("late", x));
    console.log("before");
    queueMicrotask(() => console.log("micro"));
    await tools.gated({});
    console.log("after");
    return 1;`);
  assert.equal(end.end, "finished");
  const texts = logs.map((/** @type {any} */ [, , text]) => text).toSorted();
  assert.deepEqual(texts, ["after", "before", "caught tool broke", 'late {"u":1}', "micro"]);
  assert.deepEqual(
    logs.map((/** @type {any} */ [n]) => n),
    [0, 1, 2, 3, 4],
  );
});

test("a step keeps what it gave, and fails as it failed", async () => {
  const value = await valueOf(`
    let ran = 0;
    const depth = await step("depth", () => { ran++; const f = (n) => { try { return f(n + 1); } catch { return n; } }; return f(0); });
    const failed = await step("fails", async () => { await sleep(1); throw new RangeError("no"); }).catch((e) => [e.name, e.message, e.tool]);
    const given = await step("values", () => new Map([["d", new Date(0)]]));
    const g = await tools.gated({ depth });
    return [g.depth === depth, failed, given.get("d").getTime(), ran];`);
  assert.deepEqual(value, [true, ["RangeError", "no", { $: "undefined" }], 0, 1]);
});

test("a step whose function hangs is a deadlock, and so is what can never settle", async () => {
  for (const body of [
    'await step("hangs", () => new Promise(() => {}));',
    "await new Promise(() => {});",
    "await tools.echo({}); await new Promise(() => {});",
    "await sleep(5); await Promise.race([]);",
  ]) {
    const { end } = await through(body);
    assert.equal(end.end, "deadlocked", `${body} ${JSON.stringify(end)}`);
  }
});

test("a key is made of recorded bytes, and a pair is refused with the way out", async () => {
  const value = await valueOf(`
    const k = await crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]);
    const raw = [...new Uint8Array(await crypto.subtle.exportKey("raw", k))];
    const g = await tools.gated({ raw });
    const h = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]).catch((e) => e.message);
    return [g.raw.join() === raw.join(), raw.length, h.algorithm.name, pair];`);
  assert.deepEqual(value.slice(0, 3), [true, 16, "HMAC"]);
  assert.match(value[3], /make it in a tool/);
});

test("what cannot be recorded is not there", async () => {
  const names = [
    "MessageChannel",
    "MessagePort",
    "SharedArrayBuffer",
    "caches",
    "EventSource",
    "WebSocket",
    "WebSocketPair",
    "BroadcastChannel",
    "process",
    "require",
    "Buffer",
    "setImmediate",
  ];
  const value = await valueOf(`
    const out = ${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== "undefined");
    if (Atomics.waitAsync) out.push("Atomics.waitAsync");
    if (globalThis.Temporal?.Now) out.push("Temporal.Now");
    if (WebAssembly.Memory) out.push("WebAssembly.Memory");
    const target = {};
    if (new WeakRef(target).deref() !== target) out.push("WeakRef");
    new FinalizationRegistry(() => {}).register(target);
    return out;`);
  assert.deepEqual(value, []);
});

test("dates are the language's own in all but the clock", async () => {
  const value = await valueOf(`
    class Day extends Date { next() { return new Day(this.getTime() + 864e5); } }
    return [
      new Date(2020, 1, 29).getMonth(), new Date("2020-01-01").toISOString(), Date.UTC(2020, 0), Date.parse("1970-01-01"),
      new Day(0).next().toISOString(), new Day(0) instanceof Date, new Day() instanceof Day, Date.name, Date.length,
      typeof Date(), Object.prototype.toString.call(new Date()), structuredClone(new Date(5)).getTime(),
    ];`);
  assert.deepEqual(value, [
    1,
    "2020-01-01T00:00:00.000Z",
    1577836800000,
    0,
    "1970-01-02T00:00:00.000Z",
    true,
    true,
    "Date",
    7,
    "string",
    "[object Date]",
    5,
  ]);
});

test("every seed gives its own randomness, and each number is spread evenly", async () => {
  const body = "return [crypto.randomUUID(), Array.from({ length: 1000 }, Math.random)];";
  const [[first, draws], [second]] = [await valueOf(body), await valueOf(body)];
  assert.notEqual(first, second);
  assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const mean =
    draws.reduce((/** @type {number} */ sum, /** @type {number} */ x) => sum + x, 0) / 1000;
  assert.ok(mean > 0.4 && mean < 0.6, `a mean of ${mean}`);
});

for (const [name, first, second, why] of [
  ["another argument", "await tools.echo({ x: 1 });", "await tools.echo({ x: 2 });", /differs/],
  ["another tool", "await tools.echo({});", "await tools.fail({}).catch(() => {});", /differs/],
  [
    "one call more",
    "await tools.echo({ x: 1 });",
    "await tools.echo({ x: 1 }); await tools.echo({ x: 1 });",
    /differs|extra/,
  ],
  [
    "one call less",
    "await tools.echo({ x: 1 }); await tools.echo({ x: 1 });",
    "await tools.echo({ x: 1 });",
    /differs/,
  ],
  ["an end too early", "await tools.echo({ x: 1 });", "return 1;", /ended early|missing/],
  ["a timer less", "await sleep(1);", "", /moved/],
  [
    "two calls that changed places",
    "tools.echo({ a: 1 }).catch(() => {}); tools.echo({ b: 1 }).catch(() => {});",
    "tools.echo({ b: 1 }).catch(() => {}); tools.echo({ a: 1 }).catch(() => {});",
    /differs/,
  ],
]) {
  test(`a replay diverges: ${name}`, async () => {
    const id = `diverges${runs++}`;
    const order = (/** @type {any} */ body) => ({
      id,
      tools: TOOLS,
      gated: ["gated"],
      program: asProgram(`${body} await tools.gated({}); return 1;`),
    });
    const parked = await workerd.post("/run", order(first));
    assert.equal(parked.end.end, "parked");
    await workerd.post("/decide", { id, n: parked.asked[0], to: "allow" });
    const { end } = await workerd.post("/run", order(second));
    assert.equal(end.end, "diverged", JSON.stringify(end));
    assert.match(end.why, /** @type {RegExp} */ (why));
    assert.equal(typeof end.n, "number");
  });
}

const PARKS = { invocation: { parkMs: 20 } };

test("a sleep that parks ends at its date, and program time leaves it out", async () => {
  const value = await valueOf(
    `const began = Date.now(); const own = performance.now();
     await sleep(300); await sleep("0.2s"); await sleep(new Date(Date.now() + 100));
     return [Date.now() - began >= 598, performance.now() - own < 500]`,
    PARKS,
  );
  assert.deepEqual(value, [true, true]);
});

test("sleeps that park are raced and joined as timers are", async () => {
  const value = await valueOf(
    `const race = await Promise.race([sleep(900).then(() => "long"), sleep(100).then(() => "short")]);
     const order = [];
     await Promise.all([sleep(200).then(() => order.push("b")), sleep(50).then(() => order.push("a"))]);
     return [race, order]`,
    PARKS,
  );
  assert.deepEqual(value, ["short", ["a", "b"]]);
});

test("a person and a sleep are waited for at once", async () => {
  const race = `return await Promise.race([tools.gated({ n: 1 }).then(() => "allowed"), sleep(params).then(() => "late")])`;
  assert.equal(await valueOf(race, { invocation: { parkMs: 20, params: 60_000 } }), "allowed");
});

test("a timer beside a sleep is the program's own time, and fires when it is due", async () => {
  const { end } = await through(
    `const seen = [];
     setTimeout(() => seen.push("timer"), 60);
     await sleep(400);
     return seen`,
    PARKS,
  );
  assert.deepEqual(end.value, ["timer"], JSON.stringify(end));
});

test("without a limit for it no sleep parks", async () => {
  const { end } = await through(`await sleep(150); return performance.now() >= 149`);
  assert.equal(end.value, true, JSON.stringify(end));
});
