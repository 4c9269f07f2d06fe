// Rule: a preview's names fit every limit of the platform, keep their end, differ from each other,
// and say which pull request they are of, and of no other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { belongsTo, previewNames, pullRequestOf } from "../../scripts/lib/cloud/names.mjs";

const LONG =
  "a-fork-of-holdfast-with-a-name-that-goes-on-and-on-and-on-until-nothing-fits-any-more";

test("the names of a preview are as the docs say", () => {
  const names = previewNames("holdfast", 7);
  assert.equal(names.worker, "holdfast-pr-7");
  assert.equal(names.database("DB"), "holdfast-pr-7-db");
  assert.equal(names.database("ARCHIVE"), "holdfast-pr-7-archive-db");
  assert.equal(names.namespace("OAUTH_KV"), "holdfast-pr-7-oauth-kv-kv");
  assert.equal(names.workflow("holdfast-workflows"), "holdfast-pr-7-workflow");
  assert.equal(names.workflow("holdfast-nightly"), "holdfast-pr-7-nightly-workflow");
  assert.equal(names.mock("sentry"), "holdfast-pr-7-mock-sentry");
});

test("whatever the project, the number and the service are, the names fit", () => {
  for (const base of ["h", "holdfast", LONG, `${LONG}-pr-3`]) {
    for (const pr of [1, 7, 123_456, 9_007_199_254_740_991]) {
      const names = previewNames(base, pr);
      const hosts = [names.worker, names.mock("sentry"), names.mock(LONG), names.mock(`${LONG}2`)];
      const others = [
        names.database("DB"),
        names.database(LONG),
        names.namespace(LONG),
        names.workflow(LONG),
      ];
      for (const name of [...hosts, ...others]) {
        assert.match(name, /^[a-z0-9][a-z0-9-]*[a-z0-9]$/);
        assert.ok(name.length <= 63, `${name} has ${name.length} characters`);
        assert.equal(pullRequestOf(base, name), pr, name);
      }
      assert.ok(
        `00000000-${names.worker}`.length <= 63,
        "the address of a version is one label too",
      );
      assert.equal(new Set([...hosts, ...others]).size, 8);
      assert.match(names.database(LONG), /-db$/);
    }
  }
});

test("a name belongs to one pull request, or to none", () => {
  for (const [name, expected] of /** @type {[string, number | undefined][]} */ ([
    ["holdfast-pr-7", 7],
    ["holdfast-pr-7-db", 7],
    ["holdfast-pr-71", 71],
    ["holdfast-pr-7x", undefined],
    ["holdfast-pr-07", undefined],
    ["holdfast-pr-", undefined],
    ["holdfast-pr-0", undefined],
    ["holdfast-pr-7_db", undefined],
    ["holdfast", undefined],
    ["holdfast-db", undefined],
    ["my-holdfast-pr-7", undefined],
    ["holdfast-2-pr-7", undefined],
    ["holdfast-pr-7-mock-pr-8", 7],
    ["holdfast-pr-99999999999999999999", undefined],
  ])) {
    assert.equal(pullRequestOf("holdfast", name), expected, name);
  }
  assert.equal(pullRequestOf("holdfast-pr-3", "holdfast-pr-3-pr-4-db"), 4);
  assert.ok(!belongsTo("holdfast", 7, "holdfast-pr-71-db"));
});
