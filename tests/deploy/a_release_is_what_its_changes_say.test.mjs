// Rule: the changes of .changes/ decide the version and are all in the changelog; a release is one
// commit and one tag; where users will see something, a missing change is a failure.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import {
  bumpOf,
  changelogWith,
  entryOf,
  isDue,
  nextVersion,
  parseChange,
  withVersion,
} from "../../scripts/lib/changes.mjs";
import { CHECKOUT } from "./stage.mjs";

/** @typedef {import("../../scripts/lib/changes.mjs").Change} Change */

const change = (/** @type {string} */ bump, /** @type {string} */ text) =>
  `---\nbump: ${bump}\n---\n\n${text}\n`;

test("a change is read, or refused with its name", () => {
  assert.deepEqual(parseChange("a.md", "---\r\nbump: minor\r\n---\r\n\r\nOne.\r\n\r\nTwo.\r\n"), {
    bump: "minor",
    text: "One.\n\nTwo.",
  });
  for (const bad of [
    "",
    "text",
    change("huge", "x"),
    change("minor", " "),
    "---\nbump: minor\nx: y\n---\ntext",
    "---\n---\ntext",
  ]) {
    assert.throws(
      () => parseChange(".changes/bad.md", bad),
      /^Error: \.changes\/bad\.md |\.changes\/bad\.md/,
    );
  }
});

test("the greatest change decides the version", () => {
  const changes = (/** @type {Change["bump"][]} */ ...bumps) =>
    bumps.map((bump) => ({ bump, text: "x" }));
  assert.equal(bumpOf(changes("patch", "none", "minor", "patch")), "minor");
  assert.equal(bumpOf(changes("none")), "none");
  assert.equal(bumpOf([]), "none");
  for (const [version, bump, expected] of /** @type {[string, Change["bump"], string][]} */ ([
    ["0.1.9", "patch", "0.1.10"],
    ["0.1.9", "minor", "0.2.0"],
    ["0.9.1", "major", "0.10.0"],
    ["1.2.3", "minor", "1.3.0"],
    ["1.2.3", "major", "2.0.0"],
    ["1.2.3", "none", "1.2.3"],
  ])) {
    assert.equal(nextVersion(version, bump), expected);
  }
  assert.throws(() => nextVersion("1.2.3-beta", "patch"));
});

test("an entry holds every change but those for nobody, the newest version on top", () => {
  const entry = entryOf("0.2.0", "2026-08-01", [
    { bump: "patch", text: "A fault is mended." },
    { bump: "minor", text: "It can do more:\n\n- this\n- that" },
    { bump: "none", text: "Nothing to see." },
  ]);
  assert.equal(
    entry,
    "## 0.2.0 (2026-08-01)\n\n### Added\n\n- It can do more:\n\n  - this\n  - that\n\n### Mended\n\n- A fault is mended.",
  );
  const first = changelogWith("# Changelog\n\nIntro.\n", entry);
  const second = changelogWith(
    first,
    entryOf("0.2.1", "2026-08-02", [{ bump: "patch", text: "B." }]),
  );
  assert.deepEqual(
    [...second.matchAll(/^#+ .*$/gm)].map(([line]) => line),
    [
      "# Changelog",
      "## 0.2.1 (2026-08-02)",
      "### Mended",
      "## 0.2.0 (2026-08-01)",
      "### Added",
      "### Mended",
    ],
  );
});

test("the version is raised where it is the project's, and nowhere else", () => {
  const toml =
    '[package]\nname = "holdfast"\nversion = "0.1.0"\n\n[dependencies]\nother = { version = "0.1.0" }\n';
  assert.equal(
    withVersion("Cargo.toml", toml, "0.1.0", "0.2.0"),
    toml.replace('version = "0.1.0"', 'version = "0.2.0"'),
  );
  const lock =
    '[[package]]\nname = "a"\nversion = "0.1.0"\n\n[[package]]\nname = "holdfast"\nversion = "0.1.0"\n';
  assert.match(
    withVersion("Cargo.lock", lock, "0.1.0", "0.2.0"),
    /"a"\nversion = "0\.1\.0"[^]*"holdfast"\nversion = "0\.2\.0"/,
  );
  const npm =
    '{\n  "name": "holdfast",\n  "version": "0.1.0",\n  "packages": { "": { "name": "holdfast",\n "version": "0.1.0" }, "b": {"version": "0.1.0"} }\n}\n';
  assert.equal(
    withVersion("package-lock.json", npm, "0.1.0", "0.2.0").match(/0\.2\.0/g)?.length,
    2,
  );
  assert.throws(() => withVersion("Cargo.toml", toml, "0.3.0", "0.4.0"), /does not say/);
});

test("a change is due where users will see something", () => {
  for (const [diff, expected] of /** @type {[string, string | undefined][]} */ ([
    ["M\tsrc/run/budget.rs", "src/run/budget.rs"],
    ["M\tsrc/run/budget.rs\nA\t.changes/budget.md", undefined],
    ["M\tsrc/run/budget.rs\nM\t.changes/budget.md", "src/run/budget.rs"],
    ["M\tsrc/run/budget.rs\nD\t.changes/budget.md", "src/run/budget.rs"],
    ["M\tsrc/run/budget.rs\nA\t.changes/README.md", "src/run/budget.rs"],
    ["A\tmigrations/0009_x.sql", "migrations/0009_x.sql"],
    ["M\twrangler.toml", "wrangler.toml"],
    ["M\ttests/worker/x.test.mjs\nM\tdocs/operate.md\nM\tmocks/src/x.mjs", undefined],
    ["M\tCHANGELOG.md\nD\t.changes/budget.md\nM\tCargo.toml", undefined],
    ["", undefined],
  ])) {
    assert.equal(isDue(diff), expected, diff);
  }
});

test("a release is one commit and one tag; a dry run is neither; the check knows its base", (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-release-"));
  t.after(() => fs.rmSync(root, { recursive: true }));
  const write = (/** @type {string} */ name, /** @type {string} */ text) => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  };
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  const script = (/** @type {string[]} */ ...args) => {
    const env = {
      ...process.env,
      ...{ GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@example.com" },
      ...{ GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@example.com" },
    };
    const file = path.join(CHECKOUT, "scripts/release.mjs");
    return spawnSync(process.execPath, [file, "--project", root, ...args], {
      encoding: "utf8",
      env,
    });
  };
  write("package.json", '{\n  "name": "holdfast",\n  "version": "0.1.0"\n}\n');
  write("src/lib.rs", "");
  git("init", "--quiet", "--initial-branch", "main");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Begin");

  git("checkout", "--quiet", "-b", "work");
  write("src/lib.rs", "// more");
  git("commit", "--quiet", "--all", "--message", "More");
  const missing = script("--check");
  assert.equal(missing.status, 1);
  assert.match(
    missing.stderr,
    /error: src\/lib\.rs differs from main, and no file of \.changes\/ was added/,
  );
  write(".changes/more.md", change("minor", "There is more."));
  git("add", "--all");
  git("commit", "--quiet", "--message", "Say it");
  assert.equal(script("--check").status, 0);
  assert.equal(script("--check", "--base", "nowhere").status, 1);

  const dry = script("--dry-run");
  assert.equal(dry.status, 0, dry.stderr);
  assert.deepEqual(JSON.parse(dry.stdout), {
    ...{
      version: "0.2.0",
      tag: "v0.2.0",
      bump: "minor",
      changes: [".changes/more.md"],
      dryRun: true,
    },
  });
  assert.match(dry.stderr, /- There is more\./);
  assert.equal(git("tag"), "");

  write("stray", "");
  assert.match(script().stderr, /error: commit or stash first/);
  fs.rmSync(path.join(root, "stray"));
  const made = script();
  assert.equal(made.status, 0, made.stderr);
  assert.equal(git("tag"), "v0.2.0");
  assert.equal(git("log", "-1", "--format=%s"), "Release 0.2.0");
  assert.equal(git("status", "--porcelain"), "");
  assert.equal(
    JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).version,
    "0.2.0",
  );
  assert.match(
    fs.readFileSync(path.join(root, "CHANGELOG.md"), "utf8"),
    /## 0\.2\.0 .*\n\n### Added\n\n- There is more\./,
  );
  assert.ok(!fs.existsSync(path.join(root, ".changes/more.md")));
  assert.match(script().stderr, /error: there is nothing in \.changes\/ to release/);
});

// On a branch that is being worked on, a change may still be to come; in CI it has to be there.
test("the changes of this checkout are well formed, and in CI none that is due is missing", () => {
  const file = path.join(CHECKOUT, "scripts/release.mjs");
  const args = process.env.CI ? [] : ["--base", "HEAD"];
  const ended = spawnSync(process.execPath, [file, "--check", ...args], { encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
});
