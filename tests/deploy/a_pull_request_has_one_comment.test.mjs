// Rule: a pull request has one comment about its preview. It is found on any page, kept up to date,
// shows what there is, and holds no token.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { MARKER, commentBody } from "../../scripts/lib/cloud/comment.mjs";
import { SHA, open } from "./stage.mjs";

const stage = await open();
after(() => stage.close());
beforeEach(() => stage.hub.clear());

test("it is found behind a page of others, and updated", async () => {
  for (let count = 0; count < 5; count += 1) await somebodySays(7, `comment ${count}`);
  assert.equal((await comment("deploying")).action, "created");
  for (let count = 0; count < 5; count += 1) await somebodySays(7, `later ${count}`);
  stage.hub.state.pageSize = 2;
  assert.equal((await comment("failed")).action, "updated");
  assert.equal(ours().length, 1);
  assert.match(ours()[0]?.body ?? "", /❌ failed/);
});

test("somebody else's comment with the marker in it is left alone", async () => {
  await somebodySays(7, `${MARKER} look, I can do that too`);
  assert.equal((await comment("deploying")).action, "created");
  assert.equal((await comment("failed")).action, "updated");
  assert.equal(stage.hub.state.comments.filter(({ user }) => user.login === "somebody").length, 1);
});

test("of two that a race made, the older stays", async () => {
  await comment("deploying");
  await fetch(`${stage.env.GITHUB_API_URL}/repos/example/holdfast/issues/7/comments`, {
    method: "POST",
    headers: { authorization: "Bearer x" },
    body: JSON.stringify({ body: `${MARKER}\nthe second` }),
  });
  const { removed, action } = await comment("failed");
  assert.deepEqual([removed, action, ours().length], [1, "updated", 1]);
  assert.doesNotMatch(ours()[0]?.body ?? "", /the second/);
});

test("a pull request that never had a preview gets no comment about its end", async () => {
  assert.equal((await comment("removed")).action, "none");
  assert.equal(stage.hub.state.comments.length, 0);
});

test("a dry run writes nothing", async () => {
  const ended = await stage.preview("comment", 7, ["--status", "deploying", "--dry-run"]);
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(stage.hub.state.comments.length, 0);
});

test("it shows status, commit, both addresses, time, log and every resource", () => {
  const body = commentBody({
    status: "ready",
    sha: SHA,
    at: "2026-08-01T12:34:56.789Z",
    logUrl: "https://git.example/runs/1",
    repositoryUrl: "https://git.example/example/holdfast",
    worker: "holdfast-pr-7",
    branchUrl: "https://holdfast-pr-7.name.workers.dev",
    commitUrl: "https://0a1b2c3d-holdfast-pr-7.name.workers.dev",
    databases: [{ name: "holdfast-pr-7-db", id: "an-id" }],
    namespaces: [{ name: "holdfast-pr-7-cache-kv", id: "another-id" }],
    workflows: ["holdfast-pr-7-workflow"],
    mocks: [
      {
        service: "sentry",
        name: "holdfast-pr-7-mock-sentry",
        url: "https://holdfast-pr-7-mock-sentry.name.workers.dev",
      },
    ],
  });
  assert.equal(
    body,
    `${MARKER}
### Preview

| | |
|---|---|
| Status | ✅ ready |
| Latest commit | [\`111111111111\`](https://git.example/example/holdfast/commit/${SHA}) |
| Updated | 2026-08-01 12:34 UTC |
| Log | [workflow run](https://git.example/runs/1) |
| This commit | https://0a1b2c3d-holdfast-pr-7.name.workers.dev |
| This branch | https://holdfast-pr-7.name.workers.dev |
| Worker | \`holdfast-pr-7\` |
| D1 | \`holdfast-pr-7-db\` (\`an-id\`) |
| KV | \`holdfast-pr-7-cache-kv\` (\`another-id\`) |
| Workflow | \`holdfast-pr-7-workflow\` |
| Mock of sentry | [\`holdfast-pr-7-mock-sentry\`](https://holdfast-pr-7-mock-sentry.name.workers.dev/__mocks) |
`,
  );
});

const ours = () =>
  stage.hub.state.comments.filter(({ user }) => user.login === "github-actions[bot]");

/** @param {string} status */
async function comment(status) {
  const ended = await stage.preview("comment", 7, ["--status", status]);
  assert.equal(ended.code, 0, ended.stderr);
  return ended.result;
}

/**
 * @param {number} issue
 * @param {string} body
 */
async function somebodySays(issue, body) {
  await fetch(`${stage.env.GITHUB_API_URL}/__mocks/comments`, {
    method: "POST",
    body: JSON.stringify({ issue, body, login: "somebody" }),
  });
}
