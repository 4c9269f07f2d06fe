// What is deployed: wrangler.toml as it is committed, and the mocks that want to be in a preview.
import fs from "node:fs";
import path from "node:path";
import { parse } from "smol-toml";
import { Problem } from "./log.mjs";

/**
 * @typedef {object} Mock A folder of mocks/ with a `wrangler.toml`: a Worker of its own.
 * @property {string} service The folder's name.
 * @property {string} dir
 * @property {Record<string, any>} config Its wrangler.toml.
 * @property {Record<string, string>} variables What the worker gets to know of it, as the folder's
 *   `preview.json` says; `{host}` and `{url}` are the mock's address, `{pr}` the pull request.
 *
 * @typedef {object} Project
 * @property {string} root
 * @property {string} name
 * @property {Record<string, any>} config wrangler.toml.
 * @property {{binding: string, database_name?: string, migrations_dir?: string}[]} databases
 * @property {{binding: string}[]} namespaces
 * @property {{binding: string, name: string, class_name: string}[]} workflows
 * @property {Mock[]} mocks
 */

/**
 * @param {string} root The folder with wrangler.toml.
 * @returns {Project}
 */
export function readProject(root) {
  const config = readConfig(root);
  return {
    root,
    name: config.name,
    config,
    databases: config.d1_databases ?? [],
    namespaces: config.kv_namespaces ?? [],
    workflows: config.workflows ?? [],
    mocks: readMocks(path.join(root, "mocks")),
  };
}

/**
 * @param {string} dir
 * @returns {Record<string, any>} Its wrangler.toml.
 */
function readConfig(dir) {
  const file = path.join(dir, "wrangler.toml");
  let config;
  try {
    config = /** @type {Record<string, any>} */ (parse(fs.readFileSync(file, "utf8")));
  } catch (error) {
    throw new Problem(`${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof config.name !== "string" || typeof config.main !== "string") {
    throw new Problem(`${file} has to say \`name\` and \`main\``);
  }
  return config;
}

/**
 * @param {string} dir
 * @returns {Mock[]} By name.
 */
function readMocks(dir) {
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .sort()
    .filter((service) => fs.existsSync(path.join(dir, service, "wrangler.toml")))
    .map((service) => {
      const folder = path.join(dir, service);
      const wiring = path.join(folder, "preview.json");
      const { variables = {} } = fs.existsSync(wiring)
        ? JSON.parse(fs.readFileSync(wiring, "utf8"))
        : {};
      return { service, dir: folder, config: readConfig(folder), variables };
    });
}

/**
 * @param {Project} project
 * @param {{migrations_dir?: string}} database
 */
export function migrationsDir(project, { migrations_dir = "migrations" }) {
  return path.join(project.root, migrations_dir);
}

/**
 * Names of a database's migrations, in the order in which they are applied.
 *
 * @param {Project} project
 * @param {{migrations_dir?: string}} database
 * @returns {string[]}
 */
export function migrationNames(project, database) {
  const dir = migrationsDir(project, database);
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}
