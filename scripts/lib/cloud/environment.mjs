// What there shall be: the workers, databases, namespaces and workflows of production or of the
// preview of one pull request, as plain values. Pure: nothing here asks the cloud.
import path from "node:path";
import { Problem } from "./log.mjs";
import { previewNames } from "./names.mjs";

/** The secrets that the worker cannot be without, besides those of its services. */
export const SECRETS = ["HOLDFAST_ADMIN_TOKEN", "HOLDFAST_SIGNING_KEY", "HOLDFAST_SECRETS_KEY"];

/** Of a mock in a preview: who knows it may see what the mock was sent. */
export const MOCK_SECRET = "MOCKS_TOKEN";

/**
 * What of wrangler.toml a preview may take over as it is, or has a value of its own for. A key
 * that is not here may bind a resource of production, so it is refused.
 */
const PREVIEWABLE_KEYS = new Set([
  ...["$schema", "name", "main", "account_id", "compatibility_date", "compatibility_flags"],
  ...[
    "workers_dev",
    "preview_urls",
    "build",
    "rules",
    "no_bundle",
    "base_dir",
    "minify",
    "define",
    "alias",
  ],
  ...["find_additional_modules", "upload_source_maps", "keep_names", "send_metrics", "tsconfig"],
  ...[
    "vars",
    "d1_databases",
    "kv_namespaces",
    "workflows",
    "worker_loaders",
    "version_metadata",
    "dev",
  ],
  ...["durable_objects", "migrations", "triggers", "observability", "limits", "placement"],
]);

/** What a preview leaves out: these would take over addresses, or are for other environments. */
const PRODUCTION_KEYS = new Set(["route", "routes", "env", "logpush", "dev"]);

/**
 * @typedef {import("./project.mjs").Project} Project
 * @typedef {import("./project.mjs").Mock} Mock
 *
 * @typedef {object} Environment
 * @property {"production" | "preview"} kind
 * @property {number} [pr]
 * @property {string} worker
 * @property {{binding: string, name: string}[]} databases
 * @property {{binding: string, name: string}[]} namespaces
 * @property {{binding: string, name: string, class_name: string}[]} workflows
 * @property {(Mock & {name: string})[]} mocks
 *
 * @typedef {object} Found The ids of what `ensure` made or found.
 * @property {Record<string, string>} databases By binding.
 * @property {Record<string, string>} namespaces By binding.
 */

/**
 * @param {Project} project
 * @param {number} pr
 * @returns {Environment}
 */
export function preview(project, pr) {
  const names = previewNames(project.name, pr);
  return {
    kind: "preview",
    pr,
    worker: names.worker,
    databases: project.databases.map(({ binding }) => ({ binding, name: names.database(binding) })),
    namespaces: project.namespaces.map(({ binding }) => ({
      binding,
      name: names.namespace(binding),
    })),
    workflows: project.workflows.map(({ binding, name, class_name }) => ({
      binding,
      name: names.workflow(name),
      class_name,
    })),
    mocks: project.mocks.map((mock) => ({ ...mock, name: names.mock(mock.service) })),
  };
}

/**
 * @param {Project} project
 * @returns {Environment}
 */
export function production(project) {
  return {
    kind: "production",
    worker: project.name,
    databases: project.databases.map(({ binding, database_name }) => ({
      binding,
      name: database_name ?? `${project.name}-db`,
    })),
    namespaces: project.namespaces.map(({ binding }) => ({
      binding,
      name: `${project.name}-${binding.toLowerCase()}-kv`,
    })),
    workflows: project.workflows.map(({ binding, name, class_name }) => ({
      binding,
      name,
      class_name,
    })),
    mocks: [],
  };
}

/**
 * wrangler's configuration of the worker, with the ids in it. Paths are absolute: the file lies
 * elsewhere.
 *
 * @param {Project} project
 * @param {Environment} environment
 * @param {Found} found
 * @param {{sha: string, variables: Record<string, string>, build: boolean}} options
 * @returns {Record<string, any>}
 */
export function workerConfig(project, environment, found, { sha, variables, build }) {
  const { build: committedBuild, vars, ...rest } = project.config;
  const committed = environment.kind === "preview" ? previewable(rest) : rest;
  const at = (/** @type {string} */ relative) => path.resolve(project.root, relative);
  return {
    ...committed,
    name: environment.worker,
    main: at(project.config.main),
    workers_dev: environment.kind === "preview" || (rest.workers_dev ?? true),
    preview_urls: environment.kind === "preview",
    vars: { ...vars, ...variables, COMMIT_SHA: sha },
    ...(build && committedBuild
      ? { build: { ...committedBuild, cwd: at(committedBuild.cwd ?? ".") } }
      : {}),
    d1_databases: project.databases.map((database, index) => ({
      ...database,
      database_name: environment.databases[index]?.name,
      database_id: found.databases[database.binding],
      migrations_dir: at(database.migrations_dir ?? "migrations"),
    })),
    ...(project.namespaces.length > 0
      ? {
          kv_namespaces: project.namespaces.map((namespace) => ({
            ...namespace,
            id: found.namespaces[namespace.binding],
          })),
        }
      : {}),
    ...(project.workflows.length > 0
      ? {
          workflows: project.workflows.map((workflow, index) => ({
            ...workflow,
            name: environment.workflows[index]?.name,
          })),
        }
      : {}),
  };
}

/**
 * @param {Record<string, any>} config
 * @returns {Record<string, any>}
 */
function previewable(config) {
  const kept = Object.entries(config).filter(([key]) => !PRODUCTION_KEYS.has(key));
  const unknown = kept.map(([key]) => key).filter((key) => !PREVIEWABLE_KEYS.has(key));
  if (unknown.length > 0) {
    throw new Problem(
      `wrangler.toml says ${unknown.join(", ")}, which a preview has no copy of its own of. ` +
        "Give it one in scripts/lib/cloud/environment.mjs, or leave it out of previews there.",
    );
  }
  const bindings = [...(config.workflows ?? []), ...(config.durable_objects?.bindings ?? [])];
  const foreign = bindings.find(({ script_name }) => script_name !== undefined);
  if (foreign !== undefined) {
    throw new Problem(
      `wrangler.toml binds a class of ${foreign.script_name}, which a preview must not reach`,
    );
  }
  return Object.fromEntries(kept);
}

/**
 * @param {Mock & {name: string}} mock
 * @param {string} sha
 * @returns {Record<string, any>}
 */
export function mockConfig({ name, dir, config }, sha) {
  const { vars, ...rest } = previewable(config);
  return {
    ...rest,
    name,
    main: path.resolve(dir, config.main),
    workers_dev: true,
    preview_urls: false,
    vars: { ...vars, COMMIT_SHA: sha },
  };
}

/**
 * What the worker gets to know of the preview's mocks.
 *
 * @param {Environment} environment
 * @param {(worker: string) => string} urlOf
 * @returns {Record<string, string>}
 */
export function mockVariables(environment, urlOf) {
  /** @type {Record<string, string>} */
  const variables = {};
  for (const mock of environment.mocks) {
    const url = urlOf(mock.name);
    const host = url.replace(/^https?:\/\//, "");
    for (const [name, template] of Object.entries(mock.variables)) {
      variables[name] = template
        .replaceAll("{host}", host)
        .replaceAll("{url}", url)
        .replaceAll("{pr}", String(environment.pr));
    }
  }
  return variables;
}

/**
 * What wrangler has to bring about with a configuration, in the shape in which the API tells it.
 *
 * @param {Record<string, any>} config
 * @returns {string[]} One line a binding, sorted; secrets are left out.
 */
export function wantedBindings(config) {
  const lines = Object.entries(config.vars ?? {}).map(([name, value]) =>
    typeof value === "string"
      ? `plain_text ${name} ${value}`
      : `json ${name} ${JSON.stringify(value)}`,
  );
  for (const { binding, database_id } of config.d1_databases ?? []) {
    lines.push(`d1 ${binding} ${database_id}`);
  }
  for (const { binding, id } of config.kv_namespaces ?? []) {
    lines.push(`kv_namespace ${binding} ${id}`);
  }
  for (const { binding } of config.worker_loaders ?? []) lines.push(`worker_loader ${binding}`);
  for (const { binding, name, class_name } of config.workflows ?? []) {
    lines.push(`workflow ${binding} ${name} ${class_name}`);
  }
  for (const { name, class_name } of config.durable_objects?.bindings ?? []) {
    lines.push(`durable_object_namespace ${name} ${class_name}`);
  }
  return lines.sort();
}

/**
 * The same lines for what the API says is live. A binding of a kind that is not known here makes
 * a line that nothing wants, so that the worker counts as different and is deployed.
 *
 * @param {{type: string, name: string, [key: string]: any}[]} bindings
 * @returns {string[]}
 */
export function liveBindings(bindings) {
  return bindings
    .filter(({ type }) => type !== "secret_text")
    .map((one) => {
      switch (one.type) {
        case "plain_text":
          return `plain_text ${one.name} ${one.text}`;
        case "json":
          return `json ${one.name} ${JSON.stringify(one.json)}`;
        case "d1":
          return `d1 ${one.name} ${one.id ?? one.database_id}`;
        case "kv_namespace":
          return `kv_namespace ${one.name} ${one.namespace_id}`;
        case "worker_loader":
          return `worker_loader ${one.name}`;
        case "workflow":
          return `workflow ${one.name} ${one.workflow_name} ${one.class_name}`;
        case "durable_object_namespace":
          return `durable_object_namespace ${one.name} ${one.class_name}`;
        default:
          return `${one.type} ${one.name}`;
      }
    })
    .sort();
}
