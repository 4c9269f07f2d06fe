// Rule: a guarded program means what it meant without, on the same lines.
import assert from "node:assert/strict";
import test from "node:test";
import { idleGuard, load, prepareAll } from "./prepare.mjs";

/** Programs whose value is compared with and without the guard. Some count past the size of a chunk. */
const FORMS = {
  for: "let s = 0; for (let i = 0; i < 5000; i++) s += i; return s;",
  "for without anything": "let i = 0; for (;;) { if (++i > 3000) break; } return i;",
  "for, a count of whole chunks":
    "let s = 0; for (let i = 0; i < 4096; i++) s += i; for (let i = 0; i <= 1023; i++) s += i; return s;",
  "for, a count that is left":
    "let s = 0; for (let i = 0; i < 9000; i++) { if (i > 5000) break; s += i; } return s;",
  "for, a count that is left from a switch in it":
    "let s = 0; for (let i = 0; i < 3000; i++) { switch (i % 3) { case 1: s++; break; default: s += 2; } } return s;",
  "for, a count around a loop that is left":
    "let s = 0; for (let i = 0; i < 3000; i++) { for (;;) { if (s % 7 === 0) break; s++; } s++; } return s;",
  "for, a count that its body changes":
    "let s = 0; for (let i = 0; i < 9000; i++) { i += 2; s++; } for (let i = 0; i < 9000; i++) [i] = [i + 1, s++]; return s;",
  "for, a count that its body returns from":
    "const f = () => { for (let i = 0; i < 9000; i++) { if (i * i > 4_000_000) return i; } }; return f();",
  "for, a count that calls":
    "let s = 0; for (let i = 5; i <= 700; i++) { s += Math.abs(-i); } return s;",
  "for, a count of nothing": "let s = 0; for (let i = 9; i < 3; i++) s++; return s;",
  "for, a count over several lines":
    "let s = 0;\nfor (let i = 0;\n  i // here\n  <\n  5_000;\n  i++) s += i;\nreturn s;",
  "for, a count in hexadecimal and with an exponent":
    "let s = 0; for (let i = 0x10; i < 1e4; ++i) s += i; return s;",
  "for, a count in a name with an escape":
    "let s = 0; for (let \\u0069 = 0; i < 2000; i++) s += i; return s;",
  "for, expression init": "let i, s = 0; for (i = 0, s = 1; i < 5; i++) s *= 2; return [i, s];",
  "for, init that begins with a brace":
    "let a, s = 0; for ({ a } = { a: 3 }; a; a--) s += a; return s;",
  "for, no test, no update":
    "let i = 0; for (let k = 2; ;) { i += k; if (i > 5000) break; } return i;",
  "for, continue":
    "let s = 0; for (let i = 0; i < 5000; i++) { if (i % 2) continue; s += i; } return s;",
  "for, comments with brackets":
    "let s = 0; for /* ( */ (let i = 0 /* ; */; /* ) */ i < 4; i++ /* ; */) s += i; return s;",
  "for over several lines":
    "let s = 0;\nfor (\n  let i = 0;\n  i < 40;\n  i++\n)\n  s += i;\nreturn s;",
  "for\n( on the next line": "let s = 0;\nfor // (\n(let i = 0; i < 40; i++) s += i;\nreturn s;",
  "each iteration has its own binding":
    "const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); return fs.map((f) => f());",
  "var leaks as before": "for (var i = 0; i < 2000; i++); return i;",
  nested:
    "let s = 0; for (let i = 0; i < 70; i++) for (let j = 0; j < 70; j++) for (let k = 0; k < 3; k++) s += i * j + k; return s;",
  while: "let i = 0; while (i++ < 5000) ; return i;",
  "while whose test writes":
    "let n = 3000, s = 0; while (n--) { if (n % 3 === 0) continue; s += n; } return [n, s];",
  "while\nover lines": "let i = 0;\nwhile (\n i < 5\n) i++\nreturn i;",
  do: "let i = 0; do { i++; } while (i < 5000); return i;",
  "do without braces or semicolon": "let i = 0; do i++\nwhile (i < 1500)\nreturn i;",
  "do, continue goes to the test":
    "let i = 0, s = 0; do { i++; if (i % 2) continue; s += i; } while (i < 3000); return s;",
  "do, once": "let i = 0; do i++; while (false) return i;",
  "if, loop, else": "let s = 0; if (s) for (;;) s++; else while (s < 9) s++; return s;",
  "for of, for in":
    "let s = ''; for (const x of [1, 2]) s += x; for (const k in { a: 1, b: 2 }) s += k; return s;",
  "for await":
    "let s = 0; async function* g() { yield 1; yield 2; } for await (const x of g()) s += x; return s;",
  labels:
    "let s = 0; outer: for (let i = 0; i < 50; i++) { for (let j = 0; j < 50; j++) { if (j > i) continue outer; if (i > 40) break outer; s++; } } return s;",
  "label on a block":
    "let s = 0; x: { for (let i = 0; i < 99; i++) { s += i; if (i === 9) break x; } s = -1; } return s;",
  arrows:
    "const o = (a) => ({ a }), n = (x) => (y) => x + y, c = (x) => (x, 2), s = async (x) => await x; return [o(1), n(1)(2), c(1), await s(4)];",
  "arrow, comment before its body": "const f = (x) => // why\n  x + 1; return f(1);",
  "names are kept":
    "class A { static x = () => 1; static y = function () {}; static z = class {}; static w = (() => 2) } const f = () => 1; return [A.x.name, A.y.name, A.z.name, A.w.name, f.name];",
  class:
    "class B { constructor() { this.k = 1; } } class A extends B { a = this.k + 1; #p = 3; static n = 0; static { A.n = 7; } [`m${1}`] = 9; get g() { return this.#p; } set g(v) { this.#p = v; } static async *it() { yield 1; } constructor() { super(); this.z = 1; } } const a = new A(); a.g = 5; return [a.a, a.g, a.m1, a.z, A.n];",
  "field without a value": "class A { a; static b; 'c' = 1 } return Object.keys(new A());",
  "static block after a comment": "class A { static /* { */ { this.x = 1; } } return A.x;",
  "object members":
    "const o = { get a() { return 1; }, set a(v) {}, m() { return 2; }, async n() { return 3; }, *g() { yield 4; }, ['c' + 1]() { return 5; } }; return [o.a, o.m(), await o.n(), [...o.g()], o.c1()];",
  "default parameters":
    "let n = 0; function f(a = ++n, { b = ++n } = {}, ...c) { return [a, b, c]; } return [f(), f(9, {}, 1, 2)];",
  directive: "function f() { 'use strict'\n return this === undefined } return f();",
  generators: "function* g(n) { if (n) { yield n; yield* g(n - 1); } } return [...g(4)];",
  "generator finally":
    "const log = []; function* g() { try { yield 1; } finally { log.push('end'); } } for (const x of g()) break; return log;",
  try: "const log = []; try { try { throw 1; } catch (e) { log.push(e); throw 2; } finally { log.push('f'); } } catch { log.push('c'); } return log;",
  "catch with a pattern": "try { throw { message: 'm' }; } catch ({ message }) { return message; }",
  switch:
    "let s = ''; for (let i = 0; i < 4; i++) switch (i) { case 1: continue; case 3: break; default: s += i; } return s;",
  "break in a switch in a loop":
    "let i = 0; while (true) { switch (i) { case 2000: break; default: i++; continue; } break; } return i;",
  hoisting: "return f(); function f() { return g(); } function g() { return 1; }",
  asi: "let a = 1\nlet b = a\nwhile (b < 3) b++\n;[a] = [b]\nreturn a",
  "names that are taken":
    "let $t = 1, $l = 2, $t_1 = 3; for (let i = 0; i < 2000; i++) $l += $t; return [$t, $l, $t_1];",
  "a written induction variable is not short":
    "let s = 0; for (let i = 0; i < 9; i++) { s++; if (s < 50) (i)--; } return s;",
  "a function that is passed on": "function f(x) { return x + 1; } return [1, 2].map(f);",
  "new.target, arguments, super":
    "function F() { return [new.target === F, arguments.length]; } class A { m() { return 1; } } class B extends A { m() { return super.m() + 1; } } return [F.call(null, 1, 2), new B().m()];",
};

const names = Object.keys(FORMS);
const requests = Object.values(FORMS).flatMap((source) => [{ source }, { source, guard: true }]);
const answers = prepareAll(requests);

for (const [i, name] of names.entries()) {
  test(name, async () => {
    const source = requests[2 * i].source;
    const [plain, guarded] = answers.slice(2 * i, 2 * i + 2);
    assert.ok(!plain.refusal && !guarded.refusal, JSON.stringify(plain.refusal ?? guarded.refusal));
    const value = await run(plain.module);
    assert.deepEqual(await run(guarded.module), value, guarded.module);
    assert.notEqual(value, undefined);
    const lines = source.split("\n");
    const out = guarded.module.split("\n");
    assert.equal(out.length, lines.length + 1, "the same lines, and one that closes");
    for (const [n, line] of lines.entries()) {
      if (/\breturn\b/.test(line)) assert.match(out[n], /\breturn\b/);
    }
  });
}

/** @param {string} module */
async function run(module) {
  const factory = await load(module);
  try {
    return await factory(idleGuard(), { params: {}, tools: {} })();
  } catch (e) {
    return `threw ${e}`;
  }
}
