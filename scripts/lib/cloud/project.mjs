// What is deployed: wrangler.toml as it is committed, and the mocks that want to be in a preview.
import fs from "node:fs";
import path from "node:path";
import { parse } from "smol-toml";
import { Problem } from "./log.mjs";

/**
 * @typedef {object} Mock A folder of mocks/ with a `preview.json`.
 * @property {string} service The folder's name.
 * @property {string} main
 * @property {Record<string, string>} durableObjects Binding to class.
 * @property {Record<string, string>} variables What the worker gets to know of it; `{host}` and
 *   `{url}` are the mock's address, `{pr}` the number of the pull request.
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
  const file = path.join(root, "wrangler.toml");
  let config;
  try {
    config = /** @type {Record<string, any>} */ (parse(fs.readFileSync(file, "utf8")));
  } catch (error) {
    throw new Problem(`${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof config.name !== "string" || typeof config.main !== "string") {
    throw new Problem(`${file} has to say \`name\` and \`main\``);
  }
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
 * @returns {Mock[]} By name.
 */
function readMocks(dir) {
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .sort()
    .filter((service) => fs.existsSync(path.join(dir, service, "preview.json")))
    .map((service) => {
      const file = path.join(dir, service, "preview.json");
      const declared = JSON.parse(fs.readFileSync(file, "utf8"));
      const main = path.join(dir, service, declared.main ?? "worker.mjs");
      if (!fs.existsSync(main)) throw new Problem(`${file} names ${main}, which does not exist`);
      return {
        service,
        main,
        durableObjects: declared.durableObjects ?? {},
        variables: declared.variables ?? {},
      };
    });
}

/**
 * Names of a worker's migrations, in the order in which wrangler applies them.
 *
 * @param {Project} project
 * @param {{migrations_dir?: string}} database
 * @returns {string[]}
 */
export function migrationNames(project, { migrations_dir = "migrations" }) {
  const dir = path.join(project.root, migrations_dir);
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}
