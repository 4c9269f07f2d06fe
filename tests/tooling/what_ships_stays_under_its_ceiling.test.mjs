// Rule: an optimised build over the ceiling is refused; one that is not optimised is not shipped
// and not judged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CEILING_BYTES, isOverCeiling } from "../../scripts/build.mjs";

for (const [name, optimised, gzipBytes, expected] of /** @type {const} */ ([
  ["exactly the ceiling", true, CEILING_BYTES, false],
  ["a byte more", true, CEILING_BYTES + 1, true],
  ["a byte more, not optimised", false, CEILING_BYTES + 1, false],
])) {
  test(`the ceiling: ${name}`, () => {
    assert.equal(isOverCeiling({ optimised, gzipBytes }), expected);
  });
}
