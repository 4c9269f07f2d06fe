// Rule: a large library does under the guard what it does without.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { createGuard } from "./guard.mjs";
import { prepareAll } from "./prepare.mjs";

const require = createRequire(import.meta.url);

/** The text of acorn's module, or null where it is not installed. */
function acorn() {
  try {
    return readFileSync(join(dirname(require.resolve("acorn")), "acorn.mjs"), "utf8");
  } catch {
    return null;
  }
}

const USE =
  "import { parse, tokenizer } from './acorn.mjs';\n" +
  "const options = { ecmaVersion: 'latest', sourceType: 'module' };\n" +
  "export default ({ text }) => [JSON.stringify(parse(text, options)), [...tokenizer(text, options)].length];";

test("a parser parses itself", { skip: acorn() === null && "acorn is not installed" }, async () => {
  const text = acorn();
  const modules = { "index.js": USE, "acorn.mjs": String(text) };
  const answers = prepareAll([{ package: modules }, { package: modules, guard: true }]);
  const folder = mkdtempSync(join(tmpdir(), "library-"));
  try {
    const values = [];
    for (const [i, answer] of answers.entries()) {
      assert.equal(answer.refusal, undefined);
      for (const [file, module] of Object.entries(answer.modules ?? {})) {
        const path = join(folder, `${i}`, file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, module);
      }
      writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
      const { default: factory } = await import(
        pathToFileURL(join(folder, `${i}`, "program.js")).href
      );
      const { guard } = createGuard({ budgetMs: 60_000 });
      values.push(await factory(guard, { params: { text }, tools: {} })("default"));
    }
    assert.deepEqual(values[1], values[0]);
    assert.ok(values[0][1] > 1_000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
