// Rule: package-lock.json says what is installed, by hash, and never from where: whoever installs
// uses the registry that their machine is set to.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";

/** @type {Record<string, any>} */
const packages = JSON.parse(fs.readFileSync(path.join(ROOT, "package-lock.json"), "utf8")).packages;

test("no package has an address, and each has a hash", () => {
  for (const [name, entry] of Object.entries(packages)) {
    assert.equal(entry.resolved, undefined, `${name} (npm config omit-lockfile-registry-resolved)`);
    if (name !== "") assert.match(entry.integrity ?? "", /^sha512-/, name);
  }
});

test("the lock file is the one of package.json", () => {
  const { devDependencies } = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8"));
  assert.deepEqual(packages[""].devDependencies, devDependencies);
});
