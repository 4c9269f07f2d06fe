// Rule: an error that a package throws is told at the line and column of the file that its author
// wrote, whatever was inserted or erased there, from every surface that can invoke it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
  const saved = await w.json("/v1/packages/deep", { modules: MODULES }, { method: "PUT" });
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
});
after(() => w.stop());

const MODULES = {
  "index.ts": `import { check } from "./lib/check";
import { later } from "./lib/later.mjs";
export const near = () => { throw new RangeError("near"); };
export const far = ({ x }: { x: number }) => check(x);
export const async_far = async () => { await later(); };
export const native = () => { const o: any = null; return o.missing; };
export const traced = () => { console.trace("here"); };
export const call = async () => { await tools.nothing.at.all(); };`,
  "lib/check.ts": `// A first line.
export function check(x: number): number {
  for (let i: number = 0; i < 3; i++) { if (i === 2) throw new TypeError(\`bad \${x}\`); }
  return x;
}`,
  "lib/later.mjs": `
export async function later() {
  await sleep(1);
  throw new Error("later");
}`,
};

/** Where a text stands in a file. @param {keyof typeof MODULES} file @param {string} what */
function placed(file, what) {
  const lines = MODULES[file].split("\n");
  const line = lines.findIndex((text) => text.includes(what));
  return [file, line + 1, (lines[line] ?? "").indexOf(what) + 1];
}

const failed = async (/** @type {string} */ name, params = {}) => {
  const { body } = await w.json(`/v1/packages/deep/${name}`, { params });
  assert.equal(body.status, "failed", JSON.stringify(body));
  return body;
};

test("an error is told in the file that threw it", async () => {
  for (const [name, file, what] of /** @type {[string, keyof typeof MODULES, string][]} */ ([
    ["near", "index.ts", "new RangeError"],
    ["far", "lib/check.ts", "new TypeError"],
    ["async_far", "lib/later.mjs", "new Error"],
    ["native", "index.ts", "missing"],
  ])) {
    const { errorDetails } = await failed(name, { x: 1 });
    const { file: told, line, column } = errorDetails;
    assert.deepEqual([told, line, column], placed(file, what), JSON.stringify(errorDetails));
  }
});

test("a failed call is told where the package awaits it", async () => {
  const { errorDetails } = await failed("call");
  assert.deepEqual([errorDetails.file, errorDetails.line], ["index.ts", 8]);
  assert.equal(errorDetails.code, "HF_E1601", JSON.stringify(errorDetails));
});

test("a trace names the file and its line", async () => {
  const { body } = await w.json("/v1/packages/deep/traced", { params: {} });
  assert.match(body.logs[0].text, /here\n {2}at line 7 of index\.ts/, JSON.stringify(body));
});

test("a program that invoked it learns both places", async () => {
  const code = `\nreturn await packages.invoke("deep/far", { x: 7 });`;
  const run = await w.execute(code);
  assert.match(run.error, /bad 7/);
  assert.equal(run.errorDetails.line, 2);
  const [file, line, column] = placed("lib/check.ts", "new TypeError");
  assert.deepEqual(run.errorDetails.thrownAt, { package: "deep", file, line, column });
});

test("an older version is told by its own text", async () => {
  const modules = { "index.js": `\n\nexport const near = () => { throw new Error("second"); };` };
  const saved = await w.json("/v1/packages/deep", { modules }, { method: "PUT" });
  assert.equal(saved.body.version, 2);
  const first = await w.json("/v1/packages/deep/near", { params: {}, version: 1 });
  assert.deepEqual([first.body.errorDetails.file, first.body.errorDetails.line], ["index.ts", 3]);
  const second = await failed("near");
  assert.deepEqual([second.errorDetails.file, second.errorDetails.line], ["index.js", 3]);
});
