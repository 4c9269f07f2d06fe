// The one comment that a pull request has about its preview.
import { say } from "./log.mjs";

/** Finds the comment again; no reader sees it. */
export const MARKER = "<!-- holdfast-preview -->";

/** Who writes comments with a workflow's token. */
const DEFAULT_AUTHOR = "github-actions[bot]";

/**
 * @typedef {"deploying" | "ready" | "failed" | "removed"} Status
 *
 * @typedef {object} Facts
 * @property {Status} status
 * @property {string} sha
 * @property {string} at When, ISO 8601.
 * @property {string} [logUrl]
 * @property {string} [repositoryUrl]
 * @property {string} worker
 * @property {string} [branchUrl]
 * @property {string} [commitUrl]
 * @property {{name: string, id?: string}[]} databases
 * @property {{name: string, id?: string}[]} namespaces
 * @property {string[]} workflows
 * @property {{service: string, name: string, url?: string}[]} mocks
 */

/** @type {Record<Status, string>} */
const STATUS = {
  deploying: "🔄 deploying",
  ready: "✅ ready",
  failed: "❌ failed; the log says why",
  removed: "🧹 torn down: nothing of this preview is left",
};

/**
 * The comment's text. Pure.
 *
 * @param {Facts} facts
 * @returns {string}
 */
export function commentBody(facts) {
  const commit = `\`${facts.sha.slice(0, 12)}\``;
  /** @type {[string, string | undefined][]} */
  const rows = [
    ["Status", STATUS[facts.status]],
    [
      "Latest commit",
      facts.repositoryUrl ? `[${commit}](${facts.repositoryUrl}/commit/${facts.sha})` : commit,
    ],
    ["Updated", `${facts.at.slice(0, 16).replace("T", " ")} UTC`],
    ["Log", facts.logUrl ? `[workflow run](${facts.logUrl})` : undefined],
  ];
  if (facts.status !== "removed") {
    rows.push(
      ["This commit", facts.commitUrl],
      ["This branch", facts.branchUrl],
      ["Worker", `\`${facts.worker}\``],
      ...facts.databases.map((one) => /** @type {[string, string]} */ (["D1", withId(one)])),
      ...facts.namespaces.map((one) => /** @type {[string, string]} */ (["KV", withId(one)])),
      ...facts.workflows.map(
        (name) => /** @type {[string, string]} */ (["Workflow", `\`${name}\``]),
      ),
      ...facts.mocks.map(
        ({ service, name, url }) =>
          /** @type {[string, string]} */ ([
            `Mock of ${service}`,
            url ? `[\`${name}\`](${url}/__mocks)` : `\`${name}\``,
          ]),
      ),
    );
  }
  const table = rows
    .filter((row) => row[1] !== undefined)
    .map(([name, value]) => `| ${name} | ${value} |`)
    .join("\n");
  return `${MARKER}\n### Preview\n\n| | |\n|---|---|\n${table}\n`;
}

/** @param {{name: string, id?: string}} resource */
function withId({ name, id }) {
  return id === undefined ? `\`${name}\`` : `\`${name}\` (\`${id}\`)`;
}

/**
 * Writes the comment, or changes the one that is there. Of several, which two runs at once can
 * make, the oldest stays. Somebody else's comment with the marker in it is left alone.
 *
 * @param {import("./github.mjs").GitHub} github
 * @param {number} pr
 * @param {string} body
 * @param {{dryRun: boolean, author?: string, onlyUpdate?: boolean}} options `onlyUpdate`: a pull
 *   request that never had a comment gets none.
 * @returns {Promise<{action: "created" | "updated" | "unchanged" | "none", id?: number, removed: number}>}
 */
export async function upsertComment(
  github,
  pr,
  body,
  { dryRun, author = DEFAULT_AUTHOR, onlyUpdate = false },
) {
  const ours = (await github.comments(pr)).filter(
    (comment) => comment.user?.login === author && comment.body.includes(MARKER),
  );
  const [first, ...others] = ours.sort((left, right) => left.id - right.id);
  if (!dryRun) for (const { id } of others) await github.deleteComment(id);
  const removed = others.length;
  if (first === undefined) {
    if (onlyUpdate) return { action: "none", removed };
    say(`${dryRun ? "would comment" : "commenting"} on #${pr}`);
    return dryRun
      ? { action: "created", removed }
      : { action: "created", id: (await github.createComment(pr, body)).id, removed };
  }
  if (first.body === body) return { action: "unchanged", id: first.id, removed };
  say(`${dryRun ? "would update" : "updating"} the comment on #${pr}`);
  if (!dryRun) await github.updateComment(first.id, body);
  return { action: "updated", id: first.id, removed };
}
