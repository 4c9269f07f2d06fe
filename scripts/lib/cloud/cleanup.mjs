// Removing a preview: everything whose name says that it is of this pull request, nothing else.
//
// What is there is asked, kind by kind, never taken from a list of what should be: a preview that
// an older version made, or one that was half made, goes as well. A failure is told at the end and
// does not keep the rest from being removed.
import { ApiError } from "./http.mjs";
import { say } from "./log.mjs";
import { belongsTo, pullRequestOf } from "./names.mjs";

/**
 * @typedef {object} Resource
 * @property {string} kind
 * @property {string} name
 * @property {() => Promise<boolean>} remove
 *
 * @typedef {{removed: string[], failures: {what: string, why: string}[]}} Outcome
 */

/**
 * Every resource of the account, in the order in which they are removed: workers first, because
 * they use the rest.
 *
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @returns {Promise<{resources: Resource[], failures: Outcome["failures"]}>}
 */
async function inventory(cloud) {
  /** @type {Outcome["failures"]} */
  const failures = [];
  /**
   * @template T
   * @param {string} kind
   * @param {() => Promise<T[]>} list
   * @param {(item: T) => {name: string, remove: () => Promise<boolean>}} read
   * @returns {Promise<Resource[]>}
   */
  const of = async (kind, list, read) => {
    try {
      return (await list()).map((item) => ({ kind, ...read(item) }));
    } catch (error) {
      failures.push({ what: `list of ${kind}`, why: reason(error) });
      return [];
    }
  };
  const resources = [
    ...(await of(
      "worker",
      () => cloud.workers(),
      ({ id }) => ({ name: id, remove: () => cloud.deleteWorker(id) }),
    )),
    ...(await of(
      "workflow",
      () => cloud.workflows(),
      ({ name }) => ({ name, remove: () => cloud.deleteWorkflow(name) }),
    )),
    ...(await of(
      "kv",
      () => cloud.namespaces(),
      ({ id, title }) => ({ name: title, remove: () => cloud.deleteNamespace(id) }),
    )),
    ...(await of(
      "d1",
      () => cloud.databases(),
      ({ uuid, name }) => ({ name, remove: () => cloud.deleteDatabase(uuid) }),
    )),
  ];
  return { resources, failures };
}

/**
 * @param {Resource[]} resources
 * @param {boolean} dryRun
 * @returns {Promise<Outcome>}
 */
async function remove(resources, dryRun) {
  /** @type {Outcome} */
  const outcome = { removed: [], failures: [] };
  for (const { kind, name, remove: removeOne } of resources) {
    say(`${dryRun ? "would remove" : "removing"} ${kind} ${name}`);
    if (dryRun) continue;
    try {
      await removeOne();
      outcome.removed.push(`${kind}:${name}`);
    } catch (error) {
      say(`could not remove ${kind} ${name}: ${reason(error)}`);
      outcome.failures.push({ what: `${kind}:${name}`, why: reason(error) });
    }
  }
  return outcome;
}

/**
 * Removes what belongs, looks again, and tells what is left.
 *
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {(name: string) => boolean} belongs
 * @param {boolean} dryRun
 * @returns {Promise<Outcome & {found: string[], left: string[]}>}
 */
async function removeAll(cloud, belongs, dryRun) {
  const before = await inventory(cloud);
  const mine = before.resources.filter(({ name }) => belongs(name));
  const outcome = await remove(mine, dryRun);
  const found = mine.map(({ kind, name }) => `${kind}:${name}`);
  if (dryRun) return { ...outcome, found, failures: before.failures, left: found };
  const after = mine.length === 0 ? before : await inventory(cloud);
  const left = after.resources.filter(({ name }) => belongs(name));
  // What failed and is gone all the same (a removal whose answer was lost) is no failure.
  const isLeft = (/** @type {string} */ what) =>
    left.some(({ kind, name }) => `${kind}:${name}` === what);
  const failures = [
    ...after.failures,
    ...outcome.failures.filter(({ what }) => isLeft(what) || after.failures.length > 0),
  ];
  return {
    removed: outcome.removed,
    found,
    failures,
    left: left.map(({ kind, name }) => `${kind}:${name}`),
  };
}

/**
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {string} base
 * @param {number} pr
 * @param {{dryRun: boolean}} options
 */
export function cleanup(cloud, base, pr, { dryRun }) {
  return removeAll(cloud, (name) => belongsTo(base, pr, name), dryRun);
}

/**
 * Removes the previews of pull requests that are not open.
 *
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {string} base
 * @param {number[]} open
 * @param {{dryRun: boolean}} options
 */
export function sweep(cloud, base, open, { dryRun }) {
  return removeAll(
    cloud,
    (name) => {
      const pr = pullRequestOf(base, name);
      return pr !== undefined && !open.includes(pr);
    },
    dryRun,
  );
}

/** @param {unknown} error */
function reason(error) {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
