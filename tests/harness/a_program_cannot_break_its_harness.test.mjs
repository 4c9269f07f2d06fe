// Rule: whatever a program does to its realm, the harness sends what was meant, keeps its time and tells the end.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asProgram, guarded } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

/** @param {string} body @param {any} [more] */
const run = async (body, more = {}) => {
  const answer = await workerd.post("/run", {
    program: asProgram(body),
    tools: { echo: { echo: true }, bad: { throws: { message: "no", code: "E_NO" } } },
    ...more,
  });
  assert.equal(answer.error, undefined);
  return answer;
};

const WORK = `
  console.log("said", { a: [1] });
  const r = await tools.echo({ a: 1, list: [1, "x", null], at: new Date(0) });
  const e = await tools.bad({}).catch((error) => error);
  await sleep(1);
  return { r, code: e.code, tool: e.tool };`;

const SABOTAGE = {
  "JSON is replaced": "JSON.stringify = () => '\"hacked\"'; JSON.parse = () => ({ hacked: true });",
  "toJSON is planted on every object":
    "Object.prototype.toJSON = () => 'hacked'; Array.prototype.toJSON = () => 'hacked'; String.prototype.toJSON = () => 'hacked';",
  "methods of arrays throw":
    "for (const k of Reflect.ownKeys(Array.prototype)) if (typeof Array.prototype[k] === 'function' && k !== 'constructor') Array.prototype[k] = () => { throw new Error('array'); };",
  "iterators of arrays throw":
    "Array.prototype[Symbol.iterator] = () => { throw new Error('iterator'); };",
  "methods of text throw":
    "for (const k of Object.getOwnPropertyNames(String.prototype)) if (typeof String.prototype[k] === 'function' && k !== 'constructor') String.prototype[k] = () => { throw new Error('text'); };",
  "methods of maps and sets throw":
    "for (const C of [Map, Set, WeakMap, WeakSet]) for (const k of Reflect.ownKeys(C.prototype)) { const d = Reflect.getOwnPropertyDescriptor(C.prototype, k); if (k !== 'constructor' && d.configurable) Object.defineProperty(C.prototype, k, { configurable: true, get() { throw new Error('map'); } }); }",
  "setters wait on Object.prototype":
    "for (const k of ['0', '1', 'value', 'get', 'set', 'next', 'done', 'error', 'waiting', 'go', 'park', 'reply', 'then', 'fault', 'looked']) if (k !== 'get' && k !== 'set' && k !== 'value') Object.defineProperty(Object.prototype, k, { configurable: true, set() { throw new Error('setter'); }, get() { return undefined; } });",
  "every object seems to wait, and to have failed":
    "for (const k of ['waiting', 'go', 'park', 'error']) Object.defineProperty(Object.prototype, k, { configurable: true, get() { return k === 'error' ? { message: 'planted' } : true; } });",
  "then is replaced":
    "Promise.prototype.then = Promise.prototype.catch = Promise.prototype.finally = () => { throw new Error('then'); };",
  "Reflect and Object lose their functions":
    "for (const o of [Reflect, Object]) for (const k of Reflect.ownKeys(o)) { if (typeof o[k] === 'function' && k !== 'ownKeys') try { o[k] = () => { throw new Error('reflect'); }; } catch {} }",
  "call, apply and bind throw":
    "for (const k of ['call', 'apply', 'bind', 'toString']) Function.prototype[k] = () => { throw new Error('call'); };",
  "constructors are gone":
    "for (const k of ['Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'Proxy', 'Error', 'TypeError', 'RangeError', 'Uint8Array', 'Number', 'String', 'Object', 'Array', 'Symbol', 'Function', 'BigInt', 'TextEncoder', 'Date', 'RegExp', 'Reflect', 'JSON', 'Math']) globalThis[k] = undefined;",
  "stacks run code":
    "Error.prepareStackTrace = () => { throw new Error('stack'); }; Error.stackTraceLimit = 0;",
  "the constructor of promises lies":
    "Object.defineProperty(Promise, Symbol.species, { get() { throw new Error('species'); } });",
  "timers are replaced":
    "globalThis.setTimeout = globalThis.setInterval = globalThis.clearTimeout = () => 0;",
  "every timer id is cleared":
    "for (let i = 0; i < 5000; i++) { clearTimeout(i); clearInterval(i); }",
  "the clock is replaced":
    "Date.now = () => 0; globalThis.Date = class { getTime() { return 0; } }; globalThis.performance = undefined;".replace(
      "globalThis.Date = class { getTime() { return 0; } };",
      "",
    ),
  "regular expressions are replaced":
    "RegExp.prototype.exec = RegExp.prototype.test = () => { throw new Error('regexp'); };",
};

for (const [name, first] of Object.entries(SABOTAGE)) {
  test(`its calls, lines and value are what was meant where ${name}`, async () => {
    const { end, calls, logs, error } = await run(
      `const At = Date; ${first}\n${WORK.replace("new Date(0)", "new At(0)")}`,
    );
    const at = { $: "date", v: "1970-01-01T00:00:00.000Z" };
    assert.equal(error, undefined);
    if (name === "then is replaced") {
      // `catch` is the program's own now; what the harness does without it still holds.
      assert.equal(end.end, "threw");
      assert.equal(end.text, "then");
    } else {
      assert.equal(end.end, "finished", JSON.stringify(end));
      assert.deepEqual(end.value, {
        r: { a: 1, list: [1, "x", null], at },
        code: "E_NO",
        tool: "bad",
      });
    }
    assert.deepEqual(calls[0].args, { a: 1, list: [1, "x", null], at });
    assert.deepEqual(logs[0].slice(1, 3), ["log", 'said {"a":[1]}']);
  });

  test(`its error is told where ${name}`, async () => {
    const { end } = await run(
      `const E = TypeError; ${first}\n\nthrow new E('the end', { cause: 5 });`,
    );
    assert.equal(end.end, "threw", JSON.stringify(end));
    assert.match(end.text, /^TypeError: the end/);
    assert.equal(end.error.name, "TypeError");
  });
}

test("hashes and randomness are what was meant where the classes of bytes are gone", async () => {
  const work = "await tools.echo({ a: 1 }); return [crypto.randomUUID(), Math.random()];";
  const gone = `
    const Typed = Object.getPrototypeOf(Uint8Array.prototype);
    for (const k of ["buffer", "length", "byteLength"]) Object.defineProperty(Typed, k, { get() { return new ArrayBuffer(4096); } });
    for (const k of ["Int32Array", "Uint32Array", "Uint8Array", "ArrayBuffer", "TextEncoder"]) globalThis[k] = undefined;`;
  const invocation = { seed: "5a".repeat(32) };
  const [meant, sabotaged] = [
    await run(work, { invocation }),
    await run(gone + work, { invocation }),
  ];
  assert.equal(sabotaged.end.end, "finished", JSON.stringify(sabotaged.end));
  assert.deepEqual(sabotaged.end.value, meant.end.value);
  assert.equal(sabotaged.calls[0].hash, meant.calls[0].hash);
});

for (const [name, body] of Object.entries({
  "replaces Date.now": "Date.now = () => 0; for (;;) await new Promise((r) => setTimeout(r, 5));",
  "replaces the timers":
    "const real = setTimeout; globalThis.setTimeout = () => 0; await new Promise((r) => real(r, 20000));",
  "clears every timer": "for (let i = 0; i < 5000; i++) clearTimeout(i); await sleep(20000);",
  "replaces promises":
    "const p = new Promise((r) => setTimeout(r, 20000)); Promise.prototype.then = () => {}; globalThis.Promise = null; await p;",
})) {
  test(`its budget ends a program that ${name}`, async () => {
    const { end, ms } = await run(body, { invocation: { budgetMs: 200 } });
    assert.equal(end.end, "timed_out", JSON.stringify(end));
    assert.ok(ms < 5_000, `after ${ms} ms`);
  });
}

for (const [name, thrown, includes] of [
  ["null", "null", "null"],
  ["undefined", "undefined", "undefined"],
  ["an empty text", "''", "empty"],
  ["zero", "0", "0"],
  ["a symbol", "Symbol('s')", "Symbol(s)"],
  ["an error without a message", "new Error('')", "Error"],
  ["a plain object", "{ status: 404, detail: 'no such row' }", "no such row"],
  [
    "a revoked proxy",
    "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()",
    "unreadable",
  ],
  [
    "a proxy of which every trap throws",
    "new Proxy({}, new Proxy({}, { get() { throw 1; } }))",
    "unreadable",
  ],
  [
    "an error that refers to itself",
    "(() => { const e = new Error('loop'); e.cause = e; e.errors = [e]; return e; })()",
    "loop",
  ],
  [
    "a long chain of causes",
    "(() => { let e = new Error('innermost'); for (let i = 0; i < 10000; i++) e = new Error('x', { cause: e }); return e; })()",
    "Caused by",
  ],
  [
    "a tree of errors",
    "(() => { let e = new Error('leaf'); for (let i = 0; i < 40; i++) e = new AggregateError([e, e], 'level'); return e; })()",
    "level",
  ],
  ["a function", "() => 1", "Function"],
  [
    "getters that throw",
    "{ get message() { throw new Error('nested'); }, get name() { throw 1; }, toString() { throw 2; }, toJSON() { throw 3; } }",
    "unreadable",
  ],
  ["half a surrogate pair", "new Error('a\\ud800b')", "a\ufffdb"],
]) {
  test(`its end is told where it throws ${name}`, async () => {
    const { end } = await run(`throw ${thrown};`);
    assert.equal(end.end, "threw", JSON.stringify(end).slice(0, 500));
    assert.ok(end.text.includes(includes), end.text.slice(0, 300));
    assert.ok(Buffer.byteLength(end.text) <= 8_192);
  });
}

test("an error knows its place in the program, and its call", async () => {
  const { end } = await run("const a = 1;\n\n  throw new Error('at ' + a);");
  assert.deepEqual([end.line, end.column, end.call], [3, 9, null]);
  const called = await run("const a = 1;\nawait sleep(1);\nawait tools.bad({ a });");
  assert.deepEqual([called.end.line, called.end.call, called.end.text], [3, 0, "bad: no [E_NO]"]);
  const wrapped = await run(
    "try { await tools.bad({}); } catch (cause) { throw new Error('wrapped', { cause }); }",
  );
  assert.deepEqual(
    [wrapped.end.call, wrapped.end.text],
    [null, "wrapped\nCaused by: bad: no [E_NO]"],
  );
  const kept = await run("try { await tools.bad({}); } catch (e) { e.message += '!'; throw e; }");
  assert.equal(kept.end.call, 0);
});

test("the harness's own names and files give a program nothing", async () => {
  const { end } = await run(
    guarded("").includes("guard")
      ? `
    const seen = Object.getOwnPropertyNames(globalThis).filter((name) => /harness|holdfast|attempt|invocation/i.test(name));
    const p = tools.echo({});
    const proto = Object.getPrototypeOf(p);
    const own = Reflect.ownKeys(p);
    await p;
    return [seen, own, typeof new proto.constructor(() => {}).then];`
      : "",
  );
  assert.deepEqual(end.value, [[], [], "function"]);
});
