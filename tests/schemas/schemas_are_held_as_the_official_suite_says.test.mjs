// Our validator holds what JSON Schema says, case by case of the official test suite.
//
// Of draft 2020-12 each case has to come out as it should, but for schemas that need another
// document: those are refused, which is a rule of ours. Schemas of older drafts are adopted first;
// there a case may come out too lax where the adoption said what it left out, and never too strict.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { run } from "../../scripts/lib/command.mjs";
import { schemaSuite } from "../../scripts/lib/needs.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";

const BUILD_MS = 10 * 60_000;
const suite = schemaSuite();

/** Needs a meta-schema of its own, which is another document. */
const OWN_META_SCHEMA = "schema that uses custom metaschema with with no validation vocabulary";

/** What the draft leaves open and we hold. */
const OPTIONAL = ["anchor", "float-overflow", "id", "no-schema", "non-bmp-regex"];

/**
 * @typedef {object} Case
 * @property {string} file
 * @property {string} group
 * @property {string} case
 * @property {boolean} expected
 * @property {boolean | null} valid
 * @property {string | null} why
 * @property {string[]} notes
 */

/** @param {string} draft @param {string[]} args @returns {Promise<Case[]>} */
async function cases(draft, args) {
  const folder = path.join(/** @type {string} */ (suite.path), draft);
  const all = (/** @type {string} */ of) =>
    fs
      .readdirSync(of)
      .filter((name) => name.endsWith(".json"))
      .map((name) => path.join(of, name));
  const optional = all(path.join(folder, "optional")).filter((file) =>
    OPTIONAL.includes(path.basename(file, ".json")),
  );
  const files = args.length === 0 ? [...all(folder), ...optional] : all(folder);
  const said = await run(
    "cargo",
    ["run", "--quiet", "--locked", "--example", "schema_suite", "--", ...args, ...files],
    { cwd: ROOT, timeoutMs: BUILD_MS },
  );
  assert.ok(said.ok, said.text);
  return said.text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/** @param {Case} one */
const told = (one) => `${path.basename(one.file)}: ${one.group}: ${one.case}`;

test("draft 2020-12 is held whole", { skip: suite.missing }, async () => {
  const all = await cases("draft2020-12", []);
  const refused = all.filter(({ valid }) => valid === null);
  const elsewhere = refused.filter(({ why }) => /others are not loaded/.test(`${why}`));
  assert.deepEqual(refused.filter((one) => !elsewhere.includes(one)).map(told), []);
  const wrong = all.filter(({ valid, expected }) => valid !== null && valid !== expected);
  assert.deepEqual(wrong.map(told), []);
  const right = all.length - refused.length;
  assert.ok(right > 1_200 && elsewhere.length < 60, `${right} right, ${refused.length} refused`);
});

for (const [draft, schema, least] of /** @type {const} */ ([
  ["draft4", "http://json-schema.org/draft-04/schema#", 580],
  ["draft6", "http://json-schema.org/draft-06/schema#", 800],
  ["draft7", "http://json-schema.org/draft-07/schema#", 880],
  ["draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1_190],
])) {
  test(`schemas of ${draft} are adopted`, { skip: suite.missing }, async () => {
    const all = (await cases(draft, ["--adopt", schema])).filter(
      ({ group }) => group !== OWN_META_SCHEMA,
    );
    const wrong = all.filter(({ valid, expected }) => valid !== expected);
    const lax = wrong.filter(({ valid, notes }) => valid && notes.length > 0);
    assert.deepEqual(wrong.filter((one) => !lax.includes(one)).map(told), []);
    assert.ok(all.length - wrong.length > least, `${all.length - wrong.length} right`);
  });
}
