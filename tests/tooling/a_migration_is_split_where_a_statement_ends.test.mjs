// Rule: a semicolon ends a statement unless it stands in a string, a name, a comment or the body
// of a trigger.
import assert from "node:assert/strict";
import { test } from "node:test";
import { statements } from "../../scripts/lib/sql.mjs";

const TRIGGER =
  "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET n = CASE WHEN n > 1 THEN 1 ELSE 2 END; SELECT 1; END";

for (const [name, text, expected] of /** @type {[string, string, string[]][]} */ ([
  ["nothing", "", []],
  ["comments only", "-- a; b\n/* c; d */\n;", []],
  ["two", "SELECT 1;\nSELECT 2", ["SELECT 1", "SELECT 2"]],
  ["over lines", "SELECT\n  1;", ["SELECT\n  1"]],
  ["in a string", "SELECT ';''; ';", ["SELECT ';''; '"]],
  ["in a name", 'SELECT ";" FROM `;`, [;];', ['SELECT ";" FROM `;`, [;]']],
  ["in a comment", "SELECT 1 -- one; two\n;SELECT /* ; */ 2", ["SELECT 1", "SELECT   2"]],
  ["in a trigger", `${TRIGGER};SELECT 2;`, [TRIGGER, "SELECT 2"]],
  [
    "a CASE outside of one",
    "SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 3",
    ["SELECT CASE 1 WHEN 1 THEN 2 END", "SELECT 3"],
  ],
])) {
  test(`statements: ${name}`, () => {
    const found = statements(text).map((one) => one.replaceAll(/ *\n *(?=$)/g, ""));
    assert.deepEqual(found, expected);
  });
}
