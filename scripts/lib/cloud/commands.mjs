// The commands of scripts/preview and scripts/deploy.mjs, as functions.
import { cleanup, sweep } from "./cleanup.mjs";
import { commentBody, upsertComment } from "./comment.mjs";
import { ensure } from "./ensure.mjs";
import { MOCK_SECRET, SECRETS, mockConfig, mockVariables, workerConfig } from "./environment.mjs";
import { GitHub } from "./github.mjs";
import { waitFor, waitForCommit } from "./health.mjs";
import { Problem } from "./log.mjs";
import { migrate } from "./migrations.mjs";
import { seed } from "./seed.mjs";
import { addresses } from "./target.mjs";
import { deployWorker, freshSecret } from "./upload.mjs";
import { removePrivateDirs } from "./wrangler.mjs";

/**
 * @typedef {import("./target.mjs").Target} Target
 */

/**
 * What every result begins with.
 *
 * @param {Target} target
 */
function about({ environment, sha, dryRun }) {
  return {
    ...(environment.pr === undefined ? {} : { pr: environment.pr }),
    worker: environment.worker,
    ...(sha === "" ? {} : { commitSha: sha }),
    ...(dryRun ? { dryRun } : {}),
  };
}

/** @param {Target} target */
export async function ensureCommand(target) {
  const { environment } = target;
  const found = await ensure(target);
  return {
    ...about(target),
    databases: environment.databases.map(({ binding, name }) => ({
      name,
      id: found.databases[binding],
    })),
    namespaces: environment.namespaces.map(({ binding, name }) => ({
      name,
      id: found.namespaces[binding],
    })),
    workflows: environment.workflows.map(({ name }) => name),
    mocks: environment.mocks.map(({ name }) => name),
    created: found.created,
  };
}

/**
 * Mocks first, because the worker is told where they are; migrations before the worker, because
 * its code expects them.
 *
 * @param {Target} target
 */
export async function deployCommand(target) {
  const { environment, project, cloud, sha, build, dryRun } = target;
  removeLeftovers(target);
  const found = await ensure(target);
  const urlOf = await addresses(cloud);
  const mocks = [];
  for (const mock of environment.mocks) {
    const { changed } = await deployWorker(target, mockConfig(mock, sha), {
      [MOCK_SECRET]: () => process.env.PREVIEW_MOCKS_TOKEN || freshSecret(),
    });
    mocks.push({ service: mock.service, name: mock.name, url: urlOf(mock.name), changed });
  }
  const variables = environment.kind === "preview" ? previewVariables(target, urlOf) : {};
  const config = workerConfig(project, environment, found, { sha, variables, build });
  const migrations = await migrate(target, found);
  const { changed, made } = await deployWorker(target, config, secretsOf(environment.kind));
  const live = dryRun ? undefined : await cloud.liveVersion(environment.worker);
  return {
    result: {
      ...about(target),
      url: urlOf(environment.worker),
      ...(live === undefined ? {} : { versionId: live.versionId }),
      changed,
      migrations,
      secretsSet: Object.keys(made),
      created: found.created,
      mocks,
    },
    made,
  };
}

/** @param {Target} target */
function removeLeftovers({ environment, project, dryRun }) {
  const workers = [environment.worker, ...environment.mocks.map(({ name }) => name)];
  if (!dryRun) removePrivateDirs(project.root, workers);
}

/**
 * @param {Target} target
 * @param {(worker: string) => string} urlOf
 * @returns {Record<string, string>}
 */
function previewVariables({ environment }, urlOf) {
  return { SENTRY_ENVIRONMENT: `pr-${environment.pr}`, ...mockVariables(environment, urlOf) };
}

/**
 * How each secret is made. In production whoever deploys may bring their own.
 *
 * @param {"production" | "preview"} kind
 * @returns {Record<string, () => string>}
 */
function secretsOf(kind) {
  /** @type {Record<string, () => string>} */
  const secrets = {};
  for (const name of SECRETS) {
    secrets[name] = () => (kind === "production" && process.env[name]) || freshSecret();
  }
  if (kind === "production" && process.env.SENTRY_DSN) {
    secrets.SENTRY_DSN = () => process.env.SENTRY_DSN ?? "";
  }
  return secrets;
}

/** @param {Target} target */
export async function seedCommand(target) {
  const { environment, cloud } = target;
  /** @type {Record<string, string>} */
  const databases = {};
  for (const { binding, name } of environment.databases) {
    const known = await cloud.findDatabase(name);
    if (known === undefined && !target.dryRun) {
      throw new Problem(`there is no database ${name}; run \`ensure\` and \`deploy\` first`);
    }
    databases[binding] = known?.uuid ?? "(missing)";
  }
  return { ...about(target), ...(await seed(target, databases)) };
}

/** @param {Target} target */
export async function checkCommand(target) {
  const { environment, cloud, sha, dryRun } = target;
  const urlOf = await addresses(cloud);
  const url = urlOf(environment.worker);
  const mocks = environment.mocks.map(({ name }) => urlOf(name));
  if (!dryRun) {
    await waitForCommit(url, sha);
    for (const mock of mocks) {
      // 401: it is there, and wants its token.
      await waitFor(`${mock}/__mocks`, (status) =>
        status === 200 || status === 401 ? undefined : `status ${status}`,
      );
    }
  }
  return { ...about(target), url, ok: !dryRun, mocks };
}

/**
 * @param {Target} target
 * @param {import("./comment.mjs").Status} status
 */
export async function commentCommand(target, status) {
  const { environment, cloud, sha, dryRun } = target;
  const { pr } = environment;
  if (pr === undefined) throw new Problem("only a preview has a comment");
  const env = process.env;
  const live = status === "removed" ? undefined : await cloud.liveVersion(environment.worker);
  const urlOf = live === undefined ? undefined : await addresses(cloud);
  const databases = status === "removed" ? [] : await cloud.databases();
  const hasNamespaces = status !== "removed" && environment.namespaces.length > 0;
  const namespaces = hasNamespaces ? await cloud.namespaces() : [];
  const body = commentBody({
    status,
    sha,
    // Of a preview that is ready, when it was deployed: said again, it says the same.
    at: (status === "ready" ? live?.at : undefined) ?? new Date().toISOString(),
    ...(env.PREVIEW_LOG_URL ? { logUrl: env.PREVIEW_LOG_URL } : {}),
    ...(env.GITHUB_SERVER_URL && env.GITHUB_REPOSITORY
      ? { repositoryUrl: `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}` }
      : {}),
    worker: environment.worker,
    ...(urlOf === undefined || live === undefined
      ? {}
      : {
          branchUrl: urlOf(environment.worker),
          commitUrl: urlOf(`${live.versionId.slice(0, 8)}-${environment.worker}`),
        }),
    databases: environment.databases.map(({ name }) =>
      withId(name, databases.find((one) => one.name === name)?.uuid),
    ),
    namespaces: environment.namespaces.map(({ name }) =>
      withId(name, namespaces.find((one) => one.title === name)?.id),
    ),
    workflows: environment.workflows.map(({ name }) => name),
    mocks: environment.mocks.map(({ service, name }) => ({
      service,
      name,
      ...(urlOf === undefined ? {} : { url: urlOf(name) }),
    })),
  });
  const outcome = await upsertComment(GitHub.fromEnv(env), pr, body, {
    dryRun,
    onlyUpdate: status === "removed",
    ...(env.PREVIEW_COMMENT_AUTHOR ? { author: env.PREVIEW_COMMENT_AUTHOR } : {}),
  });
  return { ...about(target), status, ...outcome };
}

/**
 * @param {string} name
 * @param {string | undefined} id
 */
function withId(name, id) {
  return id === undefined ? { name } : { name, id };
}

/** @param {Target} target */
export async function cleanupCommand(target) {
  const { cloud, project, environment, dryRun } = target;
  const { pr } = environment;
  if (pr === undefined) throw new Problem("production is not cleaned up");
  removeLeftovers(target);
  return {
    pr,
    ...(dryRun ? { dryRun } : {}),
    ...(await cleanup(cloud, project.name, pr, { dryRun })),
  };
}

/** @param {Target} target */
export async function sweepCommand({ cloud, project, dryRun }) {
  // Asked first: without the list of open pull requests nothing may be removed.
  const open = await GitHub.fromEnv(process.env).openPullRequests();
  return {
    open,
    ...(dryRun ? { dryRun } : {}),
    ...(await sweep(cloud, project.name, open, { dryRun })),
  };
}
