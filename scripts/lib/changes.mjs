// The changes of a release as text: read, summed up, written. Pure.
import { Problem } from "./cloud/log.mjs";

/** From least to most. */
const BUMPS = /** @type {const} */ (["none", "patch", "minor", "major"]);

/** What users see, as far as paths can tell. */
const VISIBLE = /^(src\/|migrations\/|wrangler\.toml$)/;

/** @type {Record<string, string>} */
const HEADINGS = { major: "Changes that need care", minor: "Added", patch: "Mended" };

/**
 * @typedef {typeof BUMPS[number]} Bump
 * @typedef {{bump: Bump, text: string}} Change
 */

/**
 * @param {string} file For messages.
 * @param {string} text
 * @returns {Change}
 */
export function parseChange(file, text) {
  const [, head, body] = /^---\n([^]*?)\n---\n([^]*)$/.exec(text.replaceAll("\r\n", "\n")) ?? [];
  if (head === undefined || body === undefined) {
    throw new Problem(`${file} has to begin with \`---\`, \`bump: …\`, \`---\``);
  }
  const lines = head.split("\n").filter((line) => line.trim() !== "");
  const bump = /^bump:\s*(\S+)\s*$/.exec(lines[0] ?? "")?.[1];
  const known = BUMPS.find((one) => one === bump);
  if (known === undefined || lines.length !== 1) {
    throw new Problem(
      `${file} has to say \`bump:\` ${BUMPS.join(", ")}, and nothing else, between its \`---\``,
    );
  }
  if (body.trim() === "") throw new Problem(`${file} says nothing`);
  return { bump: known, text: body.trim() };
}

/**
 * @param {Change[]} changes
 * @returns {Bump} The greatest.
 */
export function bumpOf(changes) {
  return BUMPS[Math.max(0, ...changes.map(({ bump }) => BUMPS.indexOf(bump)))] ?? "none";
}

/**
 * Before 1.0.0 nothing is promised, so a major change raises the minor number.
 *
 * @param {string} version
 * @param {Bump} bump
 * @returns {string}
 */
export function nextVersion(version, bump) {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number);
  if (numbers.length !== 3) throw new Problem(`not a version to go on from: ${version}`);
  switch (bump) {
    case "major":
      return major === 0 ? `0.${minor + 1}.0` : `${major + 1}.0.0`;
    case "minor":
      return `${major}.${minor + 1}.0`;
    case "patch":
      return `${major}.${minor}.${patch + 1}`;
    default:
      return version;
  }
}

/**
 * @param {string} version
 * @param {string} date
 * @param {Change[]} changes
 * @returns {string}
 */
export function entryOf(version, date, changes) {
  const sections = ["major", "minor", "patch"].flatMap((bump) => {
    const items = changes.filter((change) => change.bump === bump).map(({ text }) => item(text));
    return items.length === 0 ? [] : [`### ${HEADINGS[bump]}\n\n${items.join("\n")}`];
  });
  return [`## ${version} (${date})`, ...sections].join("\n\n");
}

/** @param {string} text */
function item(text) {
  return `- ${text.split("\n").join("\n  ").replace(/ +$/gm, "")}`;
}

/**
 * The changelog with the entry above the older ones.
 *
 * @param {string} changelog
 * @param {string} entry
 * @returns {string}
 */
export function changelogWith(changelog, entry) {
  const at = changelog.search(/^## /m);
  if (at < 0) return `${changelog.trimEnd()}\n\n${entry}\n`;
  return `${changelog.slice(0, at)}${entry}\n\n${changelog.slice(at)}`;
}

/**
 * The file with the project's version raised, and no other's.
 *
 * @param {string} name
 * @param {string} text
 * @param {string} from
 * @param {string} to
 * @returns {string}
 */
export function withVersion(name, text, from, to) {
  const old = from.replaceAll(".", "\\.");
  const own = {
    "package.json": new RegExp(`^(  "version": ")${old}(")`, "m"),
    "package-lock.json": new RegExp(`("name": "holdfast",\\s*"version": ")${old}(")`, "g"),
    "Cargo.toml": new RegExp(`^(\\[package\\]\\n(?:(?!\\[)[^\\n]*\\n)*?version = ")${old}(")`, "m"),
    "Cargo.lock": new RegExp(
      `^(\\[\\[package\\]\\]\\nname = "holdfast"\\nversion = ")${old}(")`,
      "m",
    ),
  }[name];
  if (own === undefined || !text.includes(from)) {
    throw new Problem(`${name} does not say version ${from}`);
  }
  const raised = text.replace(own, `$1${to}$2`);
  if (raised === text) throw new Problem(`${name} does not say version ${from} of holdfast`);
  return raised;
}

/**
 * Whether a change is missing.
 *
 * @param {string} nameStatus What `git diff --name-status` printed.
 * @returns {string | undefined} A file that users will see something of, where no change was added.
 */
export function isDue(nameStatus) {
  const lines = nameStatus.split("\n").map((line) => line.split("\t"));
  const isAdded = lines.some(
    ([status, file = ""]) => status === "A" && /^\.changes\/(?!README\.md$)[^/]+\.md$/.test(file),
  );
  // A release removes the changes and touches only versions.
  return isAdded
    ? undefined
    : lines.map(([, file = ""]) => file).find((file) => VISIBLE.test(file));
}
