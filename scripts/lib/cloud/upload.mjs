// Bringing a worker to where its configuration wants it, by wrangler, unless it is there already.
import { randomBytes } from "node:crypto";
import path from "node:path";
import { liveBindings, wantedBindings } from "./environment.mjs";
import { say } from "./log.mjs";
import { withPrivateDir, wrangler, writePrivate } from "./wrangler.mjs";

/** 256 bits as hex, fit for a token and for a key. */
export function freshSecret() {
  return randomBytes(32).toString("hex");
}

/**
 * What differs between a worker and its configuration. The code is compared by COMMIT_SHA, which
 * is a variable.
 *
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {Record<string, any>} config
 * @param {string[]} secrets Names that the worker has to have.
 * @returns {Promise<string[]>} One phrase a difference; none when a deploy would change nothing.
 */
export async function differences(cloud, config, secrets) {
  const { name } = config;
  const live = await cloud.workerSettings(name);
  if (live === undefined) return ["there is no such worker"];
  /** @type {string[]} */
  const found = [];
  const wanted = wantedBindings(config);
  const has = liveBindings(live.bindings);
  if (wanted.join("\n") !== has.join("\n")) found.push("variables or bindings");
  if (live.compatibility_date !== config.compatibility_date) found.push("compatibility date");
  const flags = (/** @type {string[] | undefined} */ list) => [...(list ?? [])].sort().join();
  if (flags(live.compatibility_flags) !== flags(config.compatibility_flags)) {
    found.push("compatibility flags");
  }
  const secretNames = await cloud.secretNames(name);
  const missing = secrets.filter((secret) => !secretNames.includes(secret));
  if (missing.length > 0) found.push(`missing secrets: ${missing.join(", ")}`);
  const address = await cloud.workerAddress(name);
  if (
    address?.enabled !== config.workers_dev ||
    address?.previews_enabled !== config.preview_urls
  ) {
    found.push("address");
  }
  // Without [triggers] wrangler leaves the schedules alone, and so does this.
  const crons = config.triggers?.crons;
  if (
    crons !== undefined &&
    (await cloud.schedules(name)).sort().join() !== [...crons].sort().join()
  ) {
    found.push("schedules");
  }
  for (const workflow of config.workflows ?? []) {
    const known = await cloud.findWorkflow(workflow.name);
    if (known?.script_name !== name || known?.class_name !== workflow.class_name) {
      found.push(`workflow ${workflow.name}`);
    }
  }
  return found;
}

/**
 * @param {import("./target.mjs").Target} target
 * @param {Record<string, any>} config
 * @param {Record<string, () => string>} secrets How to make each secret where it is missing; those
 *   that are there stay as they are.
 * @returns {Promise<{changed: boolean, made: Record<string, string>}>} `made`: secrets that were set.
 */
export async function deployWorker(target, config, secrets) {
  const { cloud, project, dryRun, isCommitted } = target;
  const found = await differences(cloud, config, Object.keys(secrets));
  if (found.length === 0 && !isCommitted) found.push("uncommitted changes");
  if (found.length === 0) {
    say(`${config.name} is as it should be`);
    return { changed: false, made: {} };
  }
  say(`${dryRun ? "would deploy" : "deploying"} ${config.name} (${found.join("; ")})`);
  if (dryRun) return { changed: true, made: {} };
  const known = await cloud.secretNames(config.name);
  const made = Object.fromEntries(
    Object.entries(secrets)
      .filter(([name]) => !known.includes(name))
      .map(([name, make]) => [name, make()]),
  );
  const accountId = await cloud.accountId();
  await withPrivateDir(project.root, config.name, async (dir) => {
    const configFile = path.join(dir, "wrangler.json");
    const secretsFile = path.join(dir, "secrets.json");
    writePrivate(configFile, config);
    writePrivate(secretsFile, made);
    const args = [
      "deploy",
      "--config",
      configFile,
      "--message",
      `commit ${config.vars.COMMIT_SHA}`,
    ];
    if (Object.keys(made).length > 0) args.push("--secrets-file", secretsFile);
    await wrangler(args, { cwd: project.root, dir, accountId });
  });
  return { changed: true, made };
}
