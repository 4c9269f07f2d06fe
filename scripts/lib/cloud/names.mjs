// What an environment's resources are called, and whose a name is. Pure.
//
// A preview's names all begin with `<worker>-pr-<n>`, so that everything of it can be found, and
// nothing else, without a list kept anywhere.
import { createHash } from "node:crypto";

/** A worker's name is one label of a host name: 63 characters. The other kinds allow as many. */
const MAX_NAME = 63;

/** Of the version's id, in the address of one version: `<8 hex digits>-<worker>`. */
const VERSION_PREFIX = "00000000-".length;

/**
 * @typedef {object} Names
 * @property {string} worker
 * @property {(binding: string) => string} database
 * @property {(binding: string) => string} namespace
 * @property {(name: string) => string} workflow
 * @property {(service: string) => string} mock
 */

/**
 * @param {string} base The worker's name in wrangler.toml.
 * @param {number} pr
 * @returns {Names}
 */
export function previewNames(base, pr) {
  const root = previewRoot(base, pr);
  return {
    worker: root,
    database: (binding) => fit(root, binding === "DB" ? "" : lower(binding), "db"),
    namespace: (binding) => fit(root, lower(binding), "kv"),
    workflow: (name) => fit(root, lower(withoutBase(base, name)), "workflow"),
    mock: (service) => fit(root, "mock", lower(service)),
  };
}

/**
 * The number of the pull request that a name belongs to.
 *
 * @param {string} base
 * @param {string} name
 * @returns {number | undefined}
 */
export function pullRequestOf(base, name) {
  const match = /^(.+)-pr-([1-9]\d*)(?:-.*)?$/.exec(name);
  if (!match) return undefined;
  // The stem of a name may hold `-pr-` itself, so the whole root is compared, not the match.
  for (const found of name.matchAll(/-pr-([1-9]\d*)(?=-|$)/g)) {
    const pr = Number(found[1]);
    if (Number.isSafeInteger(pr) && belongsTo(base, pr, name)) return pr;
  }
  return undefined;
}

/**
 * @param {string} base
 * @param {number} pr
 * @param {string} name
 */
export function belongsTo(base, pr, name) {
  const root = previewRoot(base, pr);
  return name === root || name.startsWith(`${root}-`);
}

/**
 * `<base>-pr-<n>`, the base shortened where even the longest name of the preview that has to be a
 * host name would not fit.
 *
 * @param {string} base
 * @param {number} pr
 */
function previewRoot(base, pr) {
  const tail = `-pr-${pr}`;
  const room = MAX_NAME - VERSION_PREFIX - tail.length - "-mock-12345678".length;
  return `${shorten(base, room)}${tail}`;
}

/**
 * Joins the parts and shortens the middle one, so that the beginning says whose it is and the end
 * what it is.
 *
 * @param {string} root
 * @param {string} middle
 * @param {string} end
 */
function fit(root, middle, end) {
  if (middle === "mock") {
    return `${root}-mock-${shorten(end, MAX_NAME - root.length - "-mock-".length)}`;
  }
  if (middle === "") return `${root}-${end}`;
  return `${root}-${shorten(middle, MAX_NAME - root.length - end.length - 2)}-${end}`;
}

/**
 * @param {string} text
 * @param {number} room
 */
function shorten(text, room) {
  if (text.length <= room) return text;
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 6);
  const kept = text.slice(0, Math.max(0, room - digest.length - 1)).replace(/-+$/, "");
  return kept === "" ? digest : `${kept}-${digest}`;
}

/** @param {string} text */
function lower(text) {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}

/**
 * @param {string} base
 * @param {string} name
 */
function withoutBase(base, name) {
  const rest = name.startsWith(`${base}-`) ? name.slice(base.length + 1) : name;
  return rest.replace(/-?workflows?$/i, "") || "";
}
