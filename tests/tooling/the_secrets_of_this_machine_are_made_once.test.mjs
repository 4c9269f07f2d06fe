// Rule: .dev.vars gets each secret that it lacks, random and for its owner's eyes only; what it
// has is left alone.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { localSecrets } from "../../scripts/lib/secrets.mjs";

/** @param {import("node:test").TestContext} t @param {string} [text] */
function devVars(t, text) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, ".dev.vars");
  if (text !== undefined) fs.writeFileSync(file, text, { mode: 0o644 });
  return file;
}

test("three secrets are made, all different, readable by their owner only", (t) => {
  const file = devVars(t);
  const made = Object.entries(localSecrets(file));
  assert.deepEqual(
    made.map(([name]) => name),
    ["HOLDFAST_ADMIN_TOKEN", "HOLDFAST_SIGNING_KEY", "HOLDFAST_SECRETS_KEY"],
  );
  assert.equal(new Set(made.map(([, value]) => value)).size, 3);
  for (const [, value] of made) assert.match(value, /^[0-9a-f]{64}$/);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
});

test("a second start finds the same secrets and writes nothing", (t) => {
  const file = devVars(t);
  const first = localSecrets(file);
  const text = fs.readFileSync(file, "utf8");
  assert.deepEqual(localSecrets(file), first);
  assert.equal(fs.readFileSync(file, "utf8"), text);
});

for (const [name, text, token] of /** @type {const} */ ([
  ["a bare value", "HOLDFAST_ADMIN_TOKEN=mine", "mine"],
  ["a value in quotes", 'HOLDFAST_ADMIN_TOKEN="mine # too"\n', "mine # too"],
  ["a comment behind it", "HOLDFAST_ADMIN_TOKEN=mine # of May\n", "mine"],
])) {
  test(`a secret that is there is kept: ${name}`, (t) => {
    const file = devVars(t, `# my own\n${text}`);
    assert.equal(localSecrets(file).HOLDFAST_ADMIN_TOKEN, token);
    const after = fs.readFileSync(file, "utf8");
    assert.ok(after.startsWith(`# my own\n${text.trimEnd()}\n`), after);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  });
}

test("an empty secret counts as absent and is said once afterwards", (t) => {
  const file = devVars(t, "HOLDFAST_ADMIN_TOKEN=\nOTHER=1\n");
  assert.match(localSecrets(file).HOLDFAST_ADMIN_TOKEN ?? "", /^[0-9a-f]{64}$/);
  const text = fs.readFileSync(file, "utf8");
  assert.equal(text.match(/HOLDFAST_ADMIN_TOKEN/g)?.length, 1);
  assert.match(text, /^OTHER=1$/m);
});
