// What an agent is told of a tool is TypeScript that compiles, and values of the schema are of the
// type. The corpus is every schema of the official test suite, and some of ours.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { childEnv, run } from "../../scripts/lib/command.mjs";
import { schemaSuite } from "../../scripts/lib/needs.mjs";
import { NODE_BIN, ROOT } from "../../scripts/lib/places.mjs";

const BUILD_MS = 10 * 60_000;
const suite = schemaSuite();

/**
 * @param {unknown[]} schemas
 * @param {number} mostBytes
 * @returns {Promise<string[]>} a text a schema
 */
async function described(schemas, mostBytes) {
  const args = ["run", "--quiet", "--locked", "--example", "describe_schemas", "--"];
  const child = spawn("cargo", [...args, `${mostBytes}`], {
    cwd: ROOT,
    env: childEnv({}),
    stdio: ["pipe", "pipe", "inherit"],
    timeout: BUILD_MS,
  });
  child.stdin.end(JSON.stringify(schemas));
  let out = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) out += chunk;
  const lines = out.split("\n").filter((line) => line !== "");
  assert.equal(lines.length, schemas.length, out.slice(-500));
  return lines.map((line) => JSON.parse(line));
}

/**
 * @param {import("node:test").TestContext} t
 * @param {string[]} texts a file each
 */
async function compile(t, texts) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-types-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [i, text] of texts.entries()) {
    fs.writeFileSync(path.join(folder, `t${i}.ts`), `export {};\n${text}`);
  }
  const options = { strict: true, noEmit: true, target: "es2022", types: [], skipLibCheck: false };
  const config = { compilerOptions: options, include: ["*.ts"] };
  fs.writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  const said = await run(path.join(NODE_BIN, "tsc"), ["--project", folder], {
    timeoutMs: 3 * 60_000,
  });
  assert.ok(said.ok, said.text.slice(0, 4_000));
}

/** Schemas that have broken, or could break, a renderer of types. */
const HARD = [
  { $ref: "#" },
  { anyOf: [{ $ref: "#" }, { type: "null" }] },
  { $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" },
  { type: "array", items: { $ref: "#" } },
  { type: "object", additionalProperties: { $ref: "#" } },
  { properties: { "a b": {}, constructor: {}, new: { type: "string" }, "*/": true, "\u2028": {} } },
  { description: "ends */ here\r\nand\u2028there", properties: { a: { description: "*/ x" } } },
  { enum: ["a", 1, -1.5, null, true, { a: [1, {}] }, [], "\u2028\"'`${x}"] },
  { enum: Array.from({ length: 500 }, (_, i) => i) },
  { const: 1e308 },
  { type: ["array", "string"], items: { type: ["string", "null"] } },
  { type: "array", prefixItems: [{ type: "string" }, { anyOf: [{ type: "number" }, {}] }] },
  { type: "array", prefixItems: [{ type: "string" }], items: false, minItems: 1 },
  { required: ["x", "y", "x"], properties: { y: { type: "integer", minimum: 1, default: 3 } } },
  { allOf: [{ type: "string" }, { type: "number" }] },
  { type: "object", properties: { f: { type: ["string", "object"], format: "binary" } } },
  {
    $defs: { Result: { type: "string" }, Promise: { type: "null" }, 名前: {}, 1: {}, "": {} },
    properties: {
      a: { $ref: "#/$defs/Result" },
      b: { $ref: "#/$defs/Promise" },
      c: { $ref: "#/$defs/名前" },
      d: { $ref: "#/$defs/1" },
      e: { $ref: "#/$defs/" },
    },
  },
  { properties: { x: { properties: { y: { $ref: "#/properties/x" } } } } },
  { patternProperties: { "^x": { type: "number" } }, properties: { a: { type: "string" } } },
  Array.from({ length: 60 }).reduce((inner) => ({ properties: { n: inner } }), { type: "string" }),
];

/** A schema, values of its type, values that are none. @type {[object, string[], string[]][]} */
const VALUES = [
  [
    {
      type: "object",
      required: ["id"],
      additionalProperties: false,
      properties: { id: { type: "integer" }, tags: { type: "array", items: { enum: ["a", "b"] } } },
    },
    [`{ id: 1 }`, `{ id: 1, tags: ["a", "b"] }`],
    [`{}`, `{ id: "1" }`, `{ id: 1, tags: ["c"] }`, `{ id: 1, other: 2 }`],
  ],
  [{ type: ["string", "null"] }, [`"x"`, `null`], [`1`, `undefined`]],
  [
    { type: "array", prefixItems: [{ type: "string" }], items: { type: "number" }, minItems: 1 },
    [`["a"]`, `["a", 1, 2]`],
    [`[]`, `[1]`, `["a", "b"]`],
  ],
  [
    {
      $defs: {
        Node: {
          type: "object",
          required: ["v"],
          properties: {
            v: { type: "number" },
            next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] },
          },
        },
      },
      $ref: "#/$defs/Node",
    },
    [`{ v: 1 }`, `{ v: 1, next: { v: 2, next: null } }`],
    [`{ v: 1, next: {} }`],
  ],
  [
    {
      oneOf: [
        {
          type: "object",
          required: ["kind"],
          properties: { kind: { const: "a" }, x: { type: "number" } },
        },
        {
          type: "object",
          required: ["kind"],
          properties: { kind: { const: "b" }, y: { type: "string" } },
        },
      ],
    },
    [`{ kind: "a", x: 1 }`, `{ kind: "b", y: "" }`],
    [`{ kind: "c" }`, `{ kind: "a", x: "1" }`],
  ],
  [
    { type: "object", additionalProperties: { type: "number" } },
    [`{}`, `{ a: 1 }`],
    [`{ a: "1" }`],
  ],
  [
    {
      allOf: [
        { type: "object", required: ["a"], properties: { a: { type: "string" } } },
        { type: "object", required: ["b"], properties: { b: { type: "string" } } },
      ],
    },
    [`{ a: "", b: "" }`],
    [`{ a: "" }`],
  ],
];

test("hard schemas compile, however short they are told", async (t) => {
  const texts = (
    await Promise.all([100, 2_000, 100_000].map((most) => described(HARD, most)))
  ).flat();
  await compile(t, texts);
});

test("values of a schema are of its type, and others are not", async (t) => {
  const texts = await described(
    VALUES.map(([schema]) => schema),
    10_000,
  );
  await compile(
    t,
    texts.map((text, i) => {
      const [, good, bad] = VALUES[i] ?? [{}, [], []];
      return [
        text,
        ...good.map((value, n) => `export const good${n}: Arguments = ${value};`),
        ...bad.map(
          (value, n) => `// @ts-expect-error\nexport const bad${n}: Arguments = ${value};`,
        ),
        "export const called: Promise<Result> = tools.api.group.delete(good0);",
      ].join("\n");
    }),
  );
});

test("every schema of the official suite compiles", { skip: suite.missing }, async (t) => {
  const folder = path.join(/** @type {string} */ (suite.path), "draft2020-12");
  const schemas = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")))
    .map(({ schema }) => schema);
  assert.ok(schemas.length > 300);
  await compile(t, await described(schemas, 20_000));
});
