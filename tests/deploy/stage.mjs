// The stage of the deploy tests: both stand-ins, a copy of the fixture, the scripts as processes.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveCloudflare } from "../../mocks/cloudflare/node.mjs";
import { serveGitHub } from "../../mocks/github/node.mjs";

export const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
export const SHA = "1111111111111111111111111111111111111111";
export const OTHER_SHA = "2222222222222222222222222222222222222222";

/** A process that hangs is ended; the longest takes a few seconds, on a busy machine many. */
const TIMEOUT_MS = 180_000;

/** Only what a program needs: no credentials or settings of whoever runs the tests. */
const KEPT_ENV = ["HOME", "PATH", "TMPDIR", "LANG"];

/**
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, result: any}} Ended
 */

export async function open() {
  const cloudflare = await serveCloudflare();
  const github = await serveGitHub();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-deploy-test-"));
  const project = path.join(dir, "project");
  fs.cpSync(fileURLToPath(new URL("fixture", import.meta.url)), project, { recursive: true });
  const cloud = await cloudflare.mock();
  const hub = await github.mock();
  const env = {
    ...Object.fromEntries(KEPT_ENV.map((name) => [name, process.env[name]])),
    CI: "true",
    CLOUDFLARE_API_BASE_URL: `${cloudflare.url}/client/v4`,
    CLOUDFLARE_API_TOKEN: "a-token-for-the-stand-in",
    GITHUB_API_URL: github.url,
    GITHUB_REPOSITORY: "example/holdfast",
    GITHUB_SERVER_URL: "https://git.example",
    GITHUB_TOKEN: "another-token-for-the-stand-in",
    HOLDFAST_HEALTH_PAUSE_MS: "10",
    HOLDFAST_RETRY_MS: "5",
    NO_COLOR: "1",
    // wrangler is 15 MB of JavaScript; compiled once, each of its many runs starts faster.
    NODE_COMPILE_CACHE: path.join(CHECKOUT, "node_modules/.cache/holdfast-compile"),
    PREVIEW_LOG_URL: "https://git.example/example/holdfast/actions/runs/1",
    WORKERS_DEV_URL: `${cloudflare.url}/__workers/{name}`,
  };

  /**
   * Runs one of the scripts to its end, in a process group of its own.
   *
   * @param {string} script
   * @param {string[]} args
   * @param {{env?: NodeJS.ProcessEnv, started?: (pid: number) => void}} [options]
   * @returns {Promise<Ended>}
   */
  const run = (script, args, { env: more = {}, started = () => {} } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [path.join(CHECKOUT, "scripts", script), ...args], {
        cwd: project,
        env: { ...env, ...more },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const pid = child.pid ?? 0;
      started(pid);
      const timer = setTimeout(() => killGroup(pid), TIMEOUT_MS);
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
      child.once("error", reject);
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        resolve({
          code,
          signal,
          stdout,
          stderr,
          result: stdout === "" ? undefined : JSON.parse(stdout),
        });
      });
    });

  return {
    cloud,
    hub,
    project,
    env,
    run,
    /**
     * @param {string} command
     * @param {number} pr
     * @param {string[]} [args]
     * @param {Parameters<typeof run>[2]} [options]
     */
    preview: (command, pr, args = [], options = {}) =>
      run(
        "preview",
        [command, "--pr", String(pr), "--sha", SHA, "--project", project, ...args],
        options,
      ),
    /**
     * @param {string[]} [args]
     * @param {Parameters<typeof run>[2]} [options]
     */
    deploy: (args = [], options = {}) =>
      run("deploy.mjs", ["--sha", SHA, "--project", project, ...args], options),
    close: async () => {
      await cloudflare.close();
      await github.close();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Ends a script and what it started, at once.
 *
 * @param {number} pid The leader of the group.
 */
export function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}

/**
 * What the cloud holds, without what differs between two ways to the same end: ids, times, how
 * many versions it took, how often a secret was set.
 *
 * @param {import("../../mocks/cloudflare/cloud.mjs").Cloud} cloud
 */
export function shape(cloud) {
  const { scripts, databases, namespaces, workflows } = cloud.state;
  const ids = new Map([
    ...Object.values(databases).map(({ uuid, name }) => /** @type {const} */ ([uuid, name])),
    ...Object.values(namespaces).map(({ id, title }) => /** @type {const} */ ([id, title])),
  ]);
  /**
   * @template T
   * @param {[string, T][]} entries
   * @returns {Record<string, T>}
   */
  const byName = (entries) =>
    Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
  return {
    workers: byName(
      Object.entries(scripts).map(([name, script]) => {
        const live = cloud.live(name);
        return [
          name,
          {
            bindings: (live?.bindings ?? [])
              .map(({ name: binding, type, ...rest }) => {
                const { text, id, namespace_id, workflow_name, class_name } = rest;
                const value = text ?? id ?? namespace_id ?? workflow_name ?? class_name ?? "";
                return `${type} ${binding} ${type === "secret_text" ? "(secret)" : (ids.get(value) ?? value)}`;
              })
              .sort(),
            modules: (live?.modules ?? [])
              .filter((module) => module.type !== "application/source-map")
              .map((module) => ({ name: module.name, type: module.type })),
            subdomain: script.subdomain,
            schedules: script.schedules,
          },
        ];
      }),
    ),
    databases: byName(Object.values(databases).map(({ name, tables }) => [name, tables])),
    namespaces: Object.values(namespaces)
      .map(({ title }) => title)
      .sort(),
    workflows: byName(
      Object.values(workflows).map(({ name, script_name, class_name }) => [
        name,
        `${script_name} ${class_name}`,
      ]),
    ),
  };
}

/**
 * All that there is of the fixture's preview of #7 when it is up, as `shape` tells it.
 *
 * @param {NodeJS.ProcessEnv} env The stage's.
 * @returns {ReturnType<typeof shape>}
 */
export function wholePreview({ WORKERS_DEV_URL = "" }) {
  const mock = WORKERS_DEV_URL.replace("{name}", "holdfast-pr-7-mock-echo");
  const module = { name: "worker.mjs", type: "application/javascript+module" };
  return {
    workers: {
      "holdfast-pr-7": {
        bindings: [
          "d1 DB holdfast-pr-7-db",
          "kv_namespace CACHE holdfast-pr-7-cache-kv",
          `plain_text COMMIT_SHA ${SHA}`,
          `plain_text ECHO_API_BASE_URL ${mock}/api`,
          "plain_text GREETING hello",
          "plain_text SENTRY_ENVIRONMENT pr-7",
          "secret_text HOLDFAST_ADMIN_TOKEN (secret)",
          "secret_text HOLDFAST_SECRETS_KEY (secret)",
          "secret_text HOLDFAST_SIGNING_KEY (secret)",
          "worker_loader LOADER ",
          "workflow WORKFLOWS holdfast-pr-7-workflow",
        ],
        modules: [module],
        subdomain: { enabled: true, previews_enabled: true },
        schedules: ["* * * * *"],
      },
      "holdfast-pr-7-mock-echo": {
        bindings: [
          "durable_object_namespace STATE State",
          `plain_text COMMIT_SHA ${SHA}`,
          "secret_text MOCKS_TOKEN (secret)",
        ],
        modules: [{ ...module, name: "worker.js" }],
        subdomain: { enabled: true, previews_enabled: false },
        schedules: [],
      },
    },
    databases: { "holdfast-pr-7-db": ["d1_migrations", "notes", "preview_seeds", "runs"] },
    namespaces: ["holdfast-pr-7-cache-kv"],
    workflows: { "holdfast-pr-7-workflow": "holdfast-pr-7 Flow" },
  };
}

/**
 * @param {import("../../mocks/cloudflare/cloud.mjs").Cloud} cloud
 * @param {string} name
 * @param {string} sql
 */
export async function rows(cloud, name, sql) {
  const database = Object.values(cloud.state.databases).find((one) => one.name === name);
  if (database === undefined) throw new Error(`there is no database ${name}`);
  const [answer] = await cloud.platform.query(database.uuid, [{ sql, params: [] }]);
  return answer?.results ?? [];
}
