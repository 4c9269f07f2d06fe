// npm run release: the changes in .changes/ become a version, its entry in CHANGELOG.md, a commit
// and a tag. Nothing is pushed. .changes/README.md says how a change looks.
//
//   npm run release                 make the release
//   npm run release -- --dry-run    show it, change nothing
//   node scripts/release.mjs --check [--base REF]
//                                   are the changes well formed, and is there one where one is due?
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  bumpOf,
  changelogWith,
  entryOf,
  isDue,
  nextVersion,
  parseChange,
  withVersion,
} from "./lib/changes.mjs";
import { Problem, runCommand, say } from "./lib/cloud/log.mjs";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

/** What main is called where CI looks for it, and on a developer's machine. */
const BASES = ["origin/main", "main"];

/** Files that say the version, as far as there are such. */
const VERSIONED = ["package.json", "package-lock.json", "Cargo.toml", "Cargo.lock"];

function main() {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean" },
      base: { type: "string" },
      "dry-run": { type: "boolean" },
      project: { type: "string" },
    },
  });
  const root = path.resolve(values.project ?? CHECKOUT);
  return values.check ? check(root, values.base) : release(root, values["dry-run"] === true);
}

/**
 * @param {string} root
 * @returns {{file: string, change: import("./lib/changes.mjs").Change}[]} By name.
 */
function readChanges(root) {
  const dir = path.join(root, ".changes");
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .sort()
    .map((name) => ({
      file: `.changes/${name}`,
      change: parseChange(`.changes/${name}`, fs.readFileSync(path.join(dir, name), "utf8")),
    }));
}

/**
 * @param {string} root
 * @param {string | undefined} asked
 */
function check(root, asked) {
  const changes = readChanges(root);
  const base =
    asked ?? BASES.find((name) => git(root, ["rev-parse", "--verify", "--quiet", name]).ok);
  if (base === undefined) {
    say(
      `neither ${BASES.join(" nor ")} is here to compare with; only the form of the changes was checked`,
    );
    return { changes: changes.length, base: null };
  }
  const diff = git(root, ["diff", "--name-status", "--no-renames", `${base}...HEAD`]);
  if (!diff.ok) throw new Problem(`cannot compare with ${base}: ${diff.text}`);
  const due = isDue(diff.text);
  if (due !== undefined) {
    throw new Problem(
      `${due} differs from ${base}, and no file of .changes/ was added. ` +
        "Say there what users will see of it, or `bump: none` and why they see nothing (.changes/README.md).",
    );
  }
  return { changes: changes.length, base };
}

/**
 * @param {string} root
 * @param {boolean} dryRun
 */
function release(root, dryRun) {
  const changes = readChanges(root);
  if (changes.length === 0) throw new Problem("there is nothing in .changes/ to release");
  const current = JSON.parse(read(root, "package.json")).version;
  const bump = bumpOf(changes.map(({ change }) => change));
  if (bump === "none") {
    throw new Problem("nothing in .changes/ is for users: no version comes of it");
  }
  const version = nextVersion(current, bump);
  const tag = `v${version}`;
  const date = new Date().toISOString().slice(0, 10);
  const entry = entryOf(
    version,
    date,
    changes.map(({ change }) => change),
  );
  const result = { version, tag, bump, changes: changes.map(({ file }) => file) };
  if (dryRun) {
    say(entry);
    return { ...result, dryRun };
  }
  if (must(root, ["status", "--porcelain"]) !== "") {
    throw new Problem("commit or stash first: the checkout has changes");
  }
  if (git(root, ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}`]).ok) {
    throw new Problem(`${tag} is a tag already`);
  }
  for (const name of VERSIONED.filter((file) => fs.existsSync(path.join(root, file)))) {
    write(root, name, withVersion(name, read(root, name), current, version));
  }
  const log = "CHANGELOG.md";
  const before = fs.existsSync(path.join(root, log)) ? read(root, log) : "# Changelog\n";
  write(root, log, changelogWith(before, entry));
  for (const { file } of changes) fs.rmSync(path.join(root, file));
  must(root, ["add", "--all"]);
  must(root, ["commit", "--quiet", "--message", `Release ${version}`]);
  must(root, ["tag", "--annotate", tag, "--message", entry]);
  say(`${tag} is made here. Publish it with: git push --follow-tags`);
  return result;
}

/**
 * @param {string} root
 * @param {string} name
 */
function read(root, name) {
  return fs.readFileSync(path.join(root, name), "utf8");
}

/**
 * @param {string} root
 * @param {string} name
 * @param {string} text
 */
function write(root, name, text) {
  fs.writeFileSync(path.join(root, name), text);
}

/**
 * @param {string} cwd
 * @param {string[]} args
 * @returns {{ok: boolean, text: string}}
 */
function git(cwd, args) {
  try {
    const text = execFileSync("git", args, {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    return { ok: true, text: text.trim() };
  } catch (error) {
    return { ok: false, text: String(/** @type {any} */ (error).stderr ?? error).trim() };
  }
}

/**
 * @param {string} cwd
 * @param {string[]} args
 */
function must(cwd, args) {
  const { ok, text } = git(cwd, args);
  if (!ok) throw new Problem(`git ${args[0]}: ${text}`);
  return text;
}

await runCommand(async () => main());
