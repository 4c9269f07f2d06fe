// Databases and KV namespaces: found by name, made where they are missing.
import { say } from "./log.mjs";

/**
 * @param {import("./target.mjs").Target} target
 * @returns {Promise<import("./environment.mjs").Found & {created: string[]}>} In a dry run what is
 *   missing has the id `(missing)`.
 */
export async function ensure({ cloud, environment, dryRun }) {
  /** @type {import("./environment.mjs").Found & {created: string[]}} */
  const found = { databases: {}, namespaces: {}, created: [] };
  for (const { binding, name } of environment.databases) {
    const known = await cloud.findDatabase(name);
    if (known === undefined) found.created.push(`d1:${name}`);
    if (known === undefined) say(`${dryRun ? "would create" : "creating"} the D1 database ${name}`);
    found.databases[binding] =
      known?.uuid ?? (dryRun ? "(missing)" : (await cloud.createDatabase(name)).uuid);
  }
  for (const { binding, name } of environment.namespaces) {
    const known = await cloud.findNamespace(name);
    if (known === undefined) found.created.push(`kv:${name}`);
    if (known === undefined) {
      say(`${dryRun ? "would create" : "creating"} the KV namespace ${name}`);
    }
    found.namespaces[binding] =
      known?.id ?? (dryRun ? "(missing)" : (await cloud.createNamespace(name)).id);
  }
  return found;
}
