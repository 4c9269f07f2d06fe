// Rule: the place of an error is the first frame of the author's own, whatever names and messages hold.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf, placeIn } from "../../src/sandbox/harness/errors.js";

const at = (
  /** @type {string} */ module,
  /** @type {number} */ line,
  /** @type {number} */ column,
) => ({
  module,
  line,
  column,
});

for (const [name, stack, place] of /** @type {[string, string, any][]} */ ([
  [
    "a program",
    "Error: no\n    at f (program.js:3:15)\n    at program.js:1:2",
    at("program.js", 3, 15),
  ],
  ["a bare frame", "Error\n    at async program.js:12:1", at("program.js", 12, 1)],
  [
    "a module of a package before the program that links it",
    "Error: no\n    at plus (package/lib/plus.ts.js:2:40)\n    at program.js:9:1",
    at("package/lib/plus.ts.js", 2, 40),
  ],
  ["a bare frame of a package", "Error\n    at package/a.js:1:1", at("package/a.js", 1, 1)],
  [
    "frames of ours come first",
    "Error\n    at issue (harness.js:1:99)\n    at async go (package/a.js:4:7)",
    at("package/a.js", 4, 7),
  ],
  [
    "a file whose name looks like a frame",
    "Error\n    at f (package/a (b) 1.js:2:3)",
    at("package/a (b) 1.js", 2, 3),
  ],
  [
    "a function named like a place",
    "Error\n    at Object.package/x.js:1:1 (package/index.js:5:6)",
    at("package/index.js", 5, 6),
  ],
  [
    "a message that looks like a frame",
    "Error: x\n    at (package/not.js)\n    at f (program.js:3:4)",
    at("program.js", 3, 4),
  ],
  ["nothing of the author's", "Error\n    at harness.js:1:1", null],
  ["a name that only ends so", "Error\n    at f (notprogram.js:1:1)", null],
  ["no stack", "", null],
])) {
  test(name, () => assert.deepEqual(placeIn(stack), place));
}

test("a module's file is the author's own path", () => {
  for (const [module, file] of [
    ["program.js", ""],
    ["package/index.js", "index.js"],
    ["package/lib/plus.ts.js", "lib/plus.ts"],
    ["package/a.mjs.js", "a.mjs"],
    ["package/a.mts.js", "a.mts"],
  ]) {
    assert.equal(fileOf(module ?? ""), file);
  }
});
