// Rule: modules of a package see each other as modules do, for each invocation anew.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { idleGuard, prepareAll } from "./prepare.mjs";

/** @type {Record<string, { modules: Record<string, string>, results: Record<string, unknown>, params?: object }>} */
const PACKAGES = {
  "one module": {
    modules: {
      "a.ts":
        "export const one: number = 1;\nexport function add({ n }: { n: number }) { return n + one; }",
    },
    params: { n: 41 },
    results: { one: 1, add: 42 },
  },
  "default exports": {
    modules: {
      "index.js":
        'import half, { double } from "./lib/math.js"; export default ({ n }) => double(half(n)); export { half };',
      "lib/math.js":
        "export default function (n) { return n / 2 } export const double = (n) => n * 2;",
    },
    params: { n: 42 },
    results: { default: 42 },
  },
  "names of anonymous defaults": {
    modules: {
      "index.js":
        'import a from "./a"; import b from "./b"; export const names = [a.name, b.name];',
      "a.js": "export default () => {}",
      "b.ts": "export default class {}",
    },
    results: { names: ["default", "default"] },
  },
  "renamed, and passed on": {
    modules: {
      "main.js":
        'export { a as b, default as c } from "./x"; export * from "./y"; export * as ns from "./y";',
      "x.js": "export const a = 1; const z = 2; export { z as default };",
      "y.js": 'export * from "./x"; export const d = 4; export const a = 5;',
    },
    results: { b: 1, c: 2, d: 4, a: 5, ns: { a: 5, d: 4 } },
  },
  "live bindings": {
    modules: {
      "index.js":
        'import { n, bump, m, each } from "./counter"; import * as all from "./counter";\n' +
        "const seen = [n, all.n]; bump(); seen.push(n, all.n); each([7, 8]); seen.push(n, m, all.m);\n" +
        "function inner(n) { n = 99; return n; } seen.push(inner(1), n); export { seen, n as last };",
      "counter.js":
        "export let n = 1; export let m; export const bump = () => ++n;\n" +
        "export function each(xs) { for (n of xs) if (n === 8) [m] = [n]; ({ n } = { n: 5 }); }",
    },
    results: { seen: [1, 1, 2, 2, 5, 8, 8, 99, 5], last: 5 },
  },
  "live through a re-export": {
    modules: {
      "index.js": 'import { n, up } from "./between"; up(); export const value = n;',
      "between.js": 'import { n } from "./counter"; export { n }; export * from "./counter";',
      "counter.ts": "export let n: number = 1; export function up() { (n as number) += 1; }",
    },
    results: { value: 2 },
  },
  "an exported function that is replaced": {
    modules: {
      "index.js":
        'import { f, swap } from "./f"; const a = f(); swap(); export const out = [a, f()];',
      "f.js": "export function f() { return 1 } export function swap() { f = () => 2 }",
    },
    results: { out: [1, 2] },
  },
  "destructured exports": {
    modules: { "a.js": "export const { a, b: [c, ...d], e = 5 } = { a: 1, b: [2, 3, 4] };" },
    results: { a: 1, c: 2, d: [3, 4], e: 5 },
  },
  "the runtime": {
    modules: {
      "index.ts":
        'import { params } from "holdfast:runtime"; import * as h from "holdfast:runtime"; import type { T } from "holdfast:runtime"; export const out = [params.n, h.params.n]; export { params as p } from "holdfast:runtime";',
    },
    params: { n: 3 },
    results: { out: [3, 3], p: { n: 3 } },
  },
  "types that are imported without saying so": {
    modules: {
      "index.ts":
        'import { Row, sum } from "./types"; import { Only } from "./only"; export { Row } from "./types"; const r: Row = { n: 2 }; export const out = sum([r]);',
      "types.ts":
        'import { Only } from "./only"; export interface Row { n: number } export const sum = (rows: Row[]) => rows.reduce((a, r) => a + r.n, 0);',
      // This would be a circle, were it more than a type.
      "only.ts": 'import { Row } from "./types"; export type Only = Row;',
    },
    results: { out: 2 },
  },
  "order of running": {
    modules: {
      "index.js":
        'import "./a"; import { log } from "./log"; import "./b"; log.push("index"); export { log };',
      "a.js": 'import { log } from "./log"; log.push("a"); await null; log.push("a2");',
      "b.js": 'import { log } from "./log"; import "./a"; log.push("b");',
      "log.js": "export const log = [];",
    },
    results: { log: ["a", "a2", "b", "index"] },
  },
  "folders, ends and names": {
    modules: {
      "src/index.ts":
        'import { a } from "./lib"; import { b } from "./b.js"; import { c } from "../top.mjs"; export const out = [a, b, c];',
      "src/lib/index.ts": "export enum E { A = 1 } export const a = E[1];",
      "src/b.ts": "export const b = 2;",
      "top.mjs": "export const c = 3;",
    },
    results: { out: ["A", 2, 3] },
  },
  "names of ours": {
    modules: {
      "index.js": 'import { $m, $s, guard } from "./x"; export const out = [$m, $s, guard];',
      "x.js": "export let $m = 1, $s = 2; export const guard = 3; $m = 4; let name, m, f0;",
    },
    results: { out: [4, 2, 3] },
  },
};
const folder = mkdtempSync(join(tmpdir(), "packages-"));
writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
test.after(() => rmSync(folder, { recursive: true }));

const entries = Object.entries(PACKAGES);
const answers = prepareAll(
  entries.flatMap(([, { modules }]) => [
    { package: modules, guard: false },
    { package: modules, guard: true },
  ]),
);
for (const [i, [name, { results, params = {} }]] of entries.entries()) {
  test(name, async () => {
    for (const guarded of [0, 1]) {
      const answer = answers[2 * i + guarded];
      assert.equal(answer.refusal, undefined);
      const root = join(folder, `${i}-${guarded}`);
      for (const [file, text] of Object.entries(answer.modules ?? {})) {
        mkdirSync(dirname(join(root, file)), { recursive: true });
        writeFileSync(join(root, file), text);
      }
      const { default: factory } = await import(pathToFileURL(join(root, "program.js")).href);
      // Twice: nothing is kept from the first.
      for (let run = 0; run < 2; run++) {
        for (const [name, expected] of Object.entries(results)) {
          const value = await factory(idleGuard(), { params, tools: {} })(name);
          assert.deepEqual(JSON.parse(JSON.stringify(value)), expected, name);
        }
      }
    }
  });
}
