// Rule: the stand-in runs a text of SQL statement by statement, and a semicolon ends one only
// where it does for SQLite.
import assert from "node:assert/strict";
import { test } from "node:test";
import { split } from "../../mocks/cloudflare/sql.mjs";

test("semicolons in strings, names, comments and triggers end nothing", () => {
  for (const [text, expected] of /** @type {[string, string[]][]} */ ([
    ["", []],
    [" ; ;; -- nothing;\n /* ; */ ", []],
    ["SELECT 1", ["SELECT 1"]],
    ["SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]],
    ["SELECT 'a;''b'; SELECT \";\", `;`, [;]", ["SELECT 'a;''b'", 'SELECT ";", `;`, [;]']],
    ["SELECT 1 -- ;\n+ 1; SELECT 2", ["SELECT 1 -- ;\n+ 1", "SELECT 2"]],
    [
      "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET x = CASE WHEN 1 THEN 2 END; SELECT 1; END; SELECT 2",
      ["CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET x = CASE WHEN 1 THEN 2 END; SELECT 1; END", "SELECT 2"],
    ],
    ["CREATE TABLE t (begin_at INTEGER, end_at INTEGER); SELECT 1", ["CREATE TABLE t (begin_at INTEGER, end_at INTEGER)", "SELECT 1"]],
    ["SELECT CASE WHEN 1 THEN 2 END; SELECT 3", ["SELECT CASE WHEN 1 THEN 2 END", "SELECT 3"]],
  ])) {
    assert.deepEqual(split(text), expected, text);
  }
});
