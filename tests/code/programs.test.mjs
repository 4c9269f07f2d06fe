// Rule: what was recovered, erased and guarded runs as its author meant it.
//
// The cases are those of tests/cases/sandbox/code-recovery.json, without a sandbox: a factory, a
// runtime of a few names. The suite of all cases runs them in the real one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { idleGuard, load, prepareAll } from "./prepare.mjs";

/**
 * @param {import("./prepare.mjs").Answer} answer
 * @param {object} [params]
 */
async function run(answer, params = {}) {
  const factory = await load(answer.module);
  const tools = { same: async (/** @type {unknown} */ x) => x };
  const value = await factory(idleGuard(), { tools, params })();
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

const file = new URL("../cases/sandbox/code-recovery.json", import.meta.url);
const cases = JSON.parse(readFileSync(fileURLToPath(file), "utf8"));
const caseAnswers = prepareAll(
  cases.flatMap((/** @type {any} */ { code }) => [
    { source: code, guard: false },
    { source: code, guard: true },
  ]),
);
for (const [i, { name, params, expect }] of cases.entries()) {
  test(`case: ${name}`, async () => {
    for (const answer of caseAnswers.slice(2 * i, 2 * i + 2)) {
      if (expect.outcome === "failed") {
        for (const text of expect.messageIncludes ?? [])
          assert.ok(answer.refusal?.message.includes(text));
        assert.ok(answer.refusal);
      } else {
        assert.deepEqual(await run(answer, params), expect.value);
      }
    }
  });
}

/** Programs with types, and what they give. @type {[string, unknown][]} */
const TYPED = [
  [
    "enum A { B, C = 5, D, E = 'e', F = C | 2 } return [A.B, A[0], A.D, A[6], A.E, Object.keys(A).length, A.F]",
    [0, "B", 6, "D", "e", 9, 7],
  ],
  ["{ enum A { B } enum C { D = A.B + 1, E = `${D}!` } return [A.B, C.D, C.E] }", [0, 1, "1!"]],
  ["enum A { B = 1 } enum A { C = 2 } return A.B + A.C", 3],
  [
    "class A { b = 1; constructor(private c: number, readonly d = c + 1) {} sum() { return this.b + this.c + this.d } } return new A(2).sum()",
    6,
  ],
  [
    "class A { constructor(public a = 1) {} } class B extends A { c = 3; constructor(public b: number) { super(5); this.b++ } } return { ...new B(2) }",
    { a: 5, c: 3, b: 3 },
  ],
  [
    "class A { get: number = 1\n  set: number\n  static: 2 = 2;\n  ['x']() { return 3 } } const a = new A(); return [a.get, a.set ?? null, a.static, a.x()]",
    [1, null, 2, 3],
  ],
  [
    "abstract class A { abstract f(): number; g() { return this.f() } } class B extends A { override f() { return 4 } } return new B().g()",
    4,
  ],
  [
    "const f = (x: number):\n  number => x; const g = async <\n  T>(x: T) => x; return [f(1), await g(2)]",
    [1, 2],
  ],
  [
    "let n = 0; const f = (x: unknown) => { n++; return x }\nlet a = f as (x: unknown) => unknown\n(n)\nreturn n",
    0,
  ],
  ["function f(): number { return <number>\n  7 } return f()", 7],
  ["const o = { a: [1, 2] as const, b: null! }; return o?.a![1]! satisfies number", 2],
  [
    "function f(this: { n: number }, m?: number) { return this.n + (m ?? 0) } return f.call({ n: 1 }, 2)",
    3,
  ],
  [
    "function f(a: string): string; function f(a: number): number; function f(a: any) { return a } return f(1)",
    1,
  ],
  [
    "interface A { b(): void }\ntype C = A & { d: 1 }\ndeclare const e: C\nreturn typeof e",
    "undefined",
  ],
  [
    "for (const [k, v] of Object.entries<number>({ a: 1 })) return [k, v] as [string, number]",
    ["a", 1],
  ],
];
const typedAnswers = prepareAll(TYPED.map(([source]) => ({ source, guard: true })));
for (const [i, [source, expected]] of TYPED.entries()) {
  test(`typed: ${source.slice(0, 60)}`, async () => {
    assert.equal(typedAnswers[i].refusal, undefined);
    assert.deepEqual(await run(typedAnswers[i]), expected, typedAnswers[i].module);
  });
}

/** What a program must not see of ours, and what it sees as it would in a module. @type {[string, unknown][]} */
const OWN = [
  [
    "return [typeof this, typeof arguments, typeof $t, typeof $r, typeof $g]",
    Array(5).fill("undefined"),
  ],
  [
    "const tools = 1, params = 2; var console = 3; function sleep() {} class step {} return tools + params + console",
    6,
  ],
  [
    "import { params as p } from 'holdfast:runtime'; const params = 5; return [p.n, params]",
    [1, 5],
  ],
  [
    "import * as h from 'holdfast:runtime'; try { h.params = 1; } catch {} return [typeof h.tools, Object.getPrototypeOf(h)]",
    ["object", null],
  ],
  ["const params = 9; export default (p) => p.n", 1],
  ["x: { break x } return ((a) => a)`b`[0]", "b"],
  ["class A { #p = 1; static has(o) { return #p in o } } return A.has(new A())", true],
  ["'use strict'\nreturn (function () { return this === undefined })()", true],
  ["await null; return await (async () => 1)()", 1],
  ["f(); function f() { return 2 }", 2],
];
const ownAnswers = prepareAll(OWN.map(([source]) => ({ source, guard: true })));
for (const [i, [source, expected]] of OWN.entries()) {
  test(`own: ${source.slice(0, 60)}`, async () => {
    assert.equal(ownAnswers[i].refusal, undefined);
    assert.deepEqual(await run(ownAnswers[i], { n: 1 }), expected, ownAnswers[i].module);
  });
}

test("run-time stacks lead to the program's own lines", async () => {
  const source =
    "const é = '€😀';\n  function f(n: number) { while (true) { if (n--) continue; throw new Error('x') } }\nf(2)";
  const [{ module }] = prepareAll([{ source, guard: true }]);
  const error = await run(/** @type {any} */ ({ module })).catch((e) => e);
  const [, line, column] = /:(\d+):(\d+)\)?\n/.exec(error.stack.split("Error: x\n")[1]) ?? [];
  const [{ positions }] = prepareAll([
    { source, guard: true, positions: [[Number(line), Number(column)]] },
  ]);
  assert.deepEqual(positions, [
    [2, 2 + source.split("\n")[1].indexOf("throw") + "throw ".length - 1],
  ]);
});

test("what only the engine refuses leads to the author's place", async () => {
  const source = "let a = 1;\nwhile (b()) c(); let a = 2;";
  const [{ module }] = prepareAll([{ source, guard: true }]);
  await assert.rejects(load(module), SyntaxError);
  const column = module.split("\n")[1].indexOf("a = 2");
  const message = `Failed to start Worker:\nUncaught SyntaxError: Identifier 'a' has already been declared\n  at program.js:2:${column}`;
  const [{ engine }] = prepareAll([{ source, guard: true, engine: message }]);
  assert.match(engine ?? "", /^line 2, column 22: Identifier 'a' has already been declared\nwhile/);
});
