// What a command works on: the project, the environment, the commit, the cloud.
import { execFileSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Cloudflare } from "./cloudflare.mjs";
import { preview, production } from "./environment.mjs";
import { Problem } from "./log.mjs";
import { readProject } from "./project.mjs";

/** The checkout that the scripts are in. */
const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * @typedef {object} Target
 * @property {import("./project.mjs").Project} project
 * @property {import("./environment.mjs").Environment} environment
 * @property {Cloudflare} cloud
 * @property {string} sha Empty where a command works without one.
 * @property {boolean} isCommitted Whether `sha` names the code exactly.
 * @property {boolean} build
 * @property {boolean} dryRun
 */

/**
 * @param {{pr?: number, sha?: string, project?: string, needsCommit?: boolean, build?: boolean, dryRun?: boolean}} options
 *   `pr`: its preview; production without it.
 * @returns {Target}
 */
export function targetOf({
  pr,
  sha,
  project: root = CHECKOUT,
  needsCommit = true,
  build = true,
  dryRun = false,
}) {
  if (sha !== undefined) checkSha(sha);
  const project = readProject(path.resolve(root));
  const environment = pr === undefined ? production(project) : preview(project, pr);
  const cloud = Cloudflare.fromEnv(process.env, { dryRun });
  const asked = sha !== undefined || !needsCommit;
  return {
    project,
    environment,
    cloud,
    sha: sha ?? (needsCommit ? git(project.root, ["rev-parse", "HEAD"]) : ""),
    isCommitted: asked || git(project.root, ["status", "--porcelain"]) === "",
    build,
    dryRun,
  };
}

/** @param {string} sha */
function checkSha(sha) {
  if (!/^[0-9a-f]{7,64}$/.test(sha)) {
    throw new Problem(`not the id of a commit: ${JSON.stringify(sha)}`);
  }
}

/**
 * @param {string} cwd
 * @param {string[]} args
 */
function git(cwd, args) {
  try {
    return execFileSync("git", args, {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    throw new Problem("this is not a git checkout; say which commit it is with --sha");
  }
}

/**
 * A worker's address. `WORKERS_DEV_URL` replaces the form, with `{name}` in it, for a stand-in.
 *
 * @param {Cloudflare} cloud
 * @returns {Promise<(worker: string) => string>}
 */
export async function addresses(cloud) {
  const template = process.env.WORKERS_DEV_URL;
  if (template) return (worker) => template.replaceAll("{name}", worker);
  const subdomain = await cloud.subdomain();
  return (worker) => `https://${worker}.${subdomain}.workers.dev`;
}
