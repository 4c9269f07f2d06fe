// Rule: each method of `console` makes the line that people expect, and no value can make one fail.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createConsole } from "../../src/sandbox/harness/console.js";
import { createLogs } from "../../src/sandbox/harness/logs.js";

const LIMITS = { logBytes: 65_536, logLines: 1_000, logLineBytes: 8_192 };

/** The lines that `use` makes. @param {(console: any) => void} use @param {any} [limits] */
function linesOf(use, limits = {}) {
  const logs = createLogs({ ...LIMITS, ...limits }, 0);
  let now = 0;
  use(
    createConsole(
      (level, text) => logs.add(level, text, now),
      () => (now += 5),
      8_192,
    ),
  );
  return JSON.parse(`[${logs.takeAll()}]`);
}

/** @param {any[]} args */
const said = (...args) => linesOf((console) => console.log(...args))[0][2];

for (const [name, args, expected] of /** @type {[string, any[], string][]} */ ([
  ["nothing", [], ""],
  ["texts are bare at the top and quoted inside", ["a", ["a"]], 'a ["a"]'],
  [
    "primitives",
    [1, -0, NaN, true, null, undefined, 10n, Symbol("s")],
    "1 -0 NaN true null undefined 10 Symbol(s)",
  ],
  ["objects", [{ a: [1, { b: "x" }], u: undefined }], '{"a":[1,{"b":"x"}]}'],
  ["errors", [new TypeError("bad")], "TypeError: bad"],
  [
    "errors with a code and a cause",
    [Object.assign(new Error("a", { cause: new RangeError("b") }), { code: "E" })],
    "Error: a [E]\n  caused by: RangeError: b",
  ],
  ["errors inside", [{ e: new Error("x") }], '{"e":"Error: x"}'],
  ["maps and sets", [new Map([["k", 1]]), new Map([[1, 2]]), new Set([1])], '{"k":1} [[1,2]] [1]'],
  [
    "dates",
    [new Date(0), new Date(NaN), [new Date(0)]],
    '1970-01-01T00:00:00.000Z Invalid Date ["1970-01-01T00:00:00.000Z"]',
  ],
  ["regular expressions", [/a+/g, [/b/]], '/a+/g ["/b/"]'],
  [
    "functions and classes",
    [function named() {}, () => {}, class K {}],
    "[Function named] [Function] [Function K]",
  ],
  ["bytes", [new Uint8Array([1, 2])], '{"$bytes":"AQI="}'],
  ["promises", [Promise.resolve(1)], "[Promise]"],
  ["toJSON", [new URL("https://example.com/a")], "https://example.com/a"],
  [
    "%s %d %i %f %j %o %%",
    ["%s is %d, %i, %f, %j %o %%", "x", "42", 4.9, "1.5", { a: 1 }, [1]],
    'x is 42, 4, 1.5, {"a":1} [1] %',
  ],
  ["formats without arguments stay", ["100%", "%s"], "100% %s"],
  ["a lone format stays", ["%s and %d"], "%s and %d"],
  ["%c is for browsers", ["%cred", "color: red"], "red"],
  ["more arguments follow", ["%s", "a", "b", { c: 1 }], 'a b {"c":1}'],
  ["a bigint as a number", ["%d %i", 5n, 7n], "5 7"],
])) {
  test(name, () => assert.equal(said(...args), expected));
}

test("cycles, getters that throw and proxies are described", () => {
  /** @type {any} */
  const loop = { name: "loop" };
  loop.self = loop;
  assert.equal(said(loop), '{"name":"loop","self":[Circular]}');
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.equal(
    said({
      get x() {
        throw new Error("no");
      },
      y: 1,
    }),
    '{"x":[unreadable],"y":1}',
  );
  assert.equal(said(proxy), "[unreadable]");
  let deep = /** @type {any} */ ("end");
  for (let i = 0; i < 5_000; i++) deep = [deep];
  assert.match(said(deep), /^\[{100}\[…\]/);
});

test("levels, groups, counts, times, assertions and tables", () => {
  const lines = linesOf((console) => {
    for (const level of ["log", "info", "warn", "error", "debug"]) console[level](level);
    console.group("outer");
    console.log("in");
    console.group();
    console.log("deeper");
    console.groupEnd();
    console.groupEnd();
    console.groupEnd();
    console.log("out");
    console.count();
    console.count();
    console.countReset();
    console.count("x");
    console.time("t");
    console.timeLog("t", { a: 1 });
    console.timeEnd("t");
    console.timeEnd("t");
    console.assert(true, "never");
    console.assert(false, "broken %s", "here");
    console.assert(false);
    console.table([{ a: 1, b: "x" }, { a: 2 }]);
    console.table([1]);
    console.table("no rows");
    console.dir({ a: 1 });
    console.trace("here");
    console.clear();
  }).map((/** @type {any} */ [, level, text]) => `${level} ${text}`);
  assert.deepEqual(lines.slice(0, 20), [
    "log log",
    "info info",
    "warn warn",
    "error error",
    "debug debug",
    "log outer",
    "log   in",
    "log     deeper",
    "log out",
    "log default: 1",
    "log default: 2",
    "log x: 1",
    lines[12],
    lines[13],
    "warn Timer 't' does not exist",
    "error Assertion failed: broken here",
    "error Assertion failed",
    "log (index) | a | b\n0 | 1 | x\n1 | 2 | ",
    "log (index) | Values\n0 | 1",
    "log no rows",
  ]);
  assert.match(lines[12], /^log t: \d+ms \{"a":1\}$/);
  assert.match(lines[13], /^log t: \d+ms$/);
  assert.deepEqual([lines[20], lines[21].split("\n")[0]], ['log {"a":1}', "debug Trace: here"]);
});

test("a line is cut on a code point and says so", () => {
  const [, , text] = linesOf((console) => console.log(`start ${"é".repeat(10_000)}`))[0];
  assert.ok(Buffer.byteLength(text) <= 8_192 && Buffer.byteLength(text) > 8_000);
  assert.match(text, /^start é+ … \[truncated, \d+ characters\]$/);
});

test("a flood keeps its head and its tail within the limits, and counts what it dropped", () => {
  for (const limits of [{}, { logBytes: 2_000 }, { logLines: 20 }]) {
    const lines = linesOf((console) => {
      for (let i = 0; i < 20_000; i++) console.log(`line ${i}`);
    }, limits);
    const notice = lines.findIndex((/** @type {any} */ [, level]) => level === "warn");
    const [number, , text] = lines[notice];
    assert.equal(lines[0][2], "line 0");
    assert.equal(lines.at(-1)[2], "line 19999");
    assert.equal(number, notice, "the notice has the number of the first line that is missing");
    assert.equal(Number(text.match(/^(\d+) lines were dropped/)?.[1]), 20_000 - (lines.length - 1));
    const bytes = lines.reduce(
      (/** @type {number} */ sum, /** @type {any} */ line) => sum + Buffer.byteLength(line[2]),
      0,
    );
    assert.ok(
      bytes <= { ...LIMITS, ...limits }.logBytes &&
        lines.length <= { ...LIMITS, ...limits }.logLines,
    );
  }
});

test("lines that the host has are not sent again", () => {
  const logs = createLogs(LIMITS, 2);
  for (const text of ["a", "b", "c"]) logs.add("log", text, 1);
  assert.equal(logs.takeAll(), '[2,"log","c",1]');
});
