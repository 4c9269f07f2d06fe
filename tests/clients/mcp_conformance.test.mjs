// The official conformance suite passes as far as it can without its fixtures.
//
// Most scenarios call tools, prompts and resources that only a test server has. The others must
// pass, and in every scenario each message of ours must be valid against the official schema.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { run } from "../../scripts/lib/command.mjs";
import { bearerProxy } from "./bearer-proxy.mjs";
import { serverOf } from "./server.mjs";

const VERSION = "0.2.0-alpha.12";
const TIMEOUT_MS = 120_000;

/** Scenarios that need no fixture, for each revision. */
const SCENARIOS = {
  "2025-11-25": [
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
  ],
  "2026-07-28": [
    "tools-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
    "sep-2164-resource-not-found",
    "http-header-validation",
    "input-required-result-missing-input-response",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
    "input-required-result-unsupported-methods",
  ],
};

/** Scenarios that need some, and the checks that fail for want of them. All others must pass. */
const IN_PART = {
  "2025-11-25": {},
  "2026-07-28": {
    "server-stateless": [
      "sep-2575-server-rejects-undeclared-capability",
      "sep-2575-missing-capability-http-400",
      "sep-2575-http-server-no-independent-requests-on-stream",
      "sep-2575-server-no-log-without-loglevel",
    ],
    caching: [
      "sep-2549-prompts-list-caching-hints",
      "sep-2549-resources-list-caching-hints",
      "sep-2549-resources-templates-list-caching-hints",
    ],
  },
};

/** @typedef {{id: string, status: string, errorMessage?: string}} Check */

const suite = conformanceSuite();

for (const revision of /** @type {(keyof typeof SCENARIOS)[]} */ (Object.keys(SCENARIOS))) {
  test(
    `the conformance suite passes without fixtures, ${revision}`,
    {
      skip: suite.missing,
    },
    async (t) => {
      const { mcp, token } = await serverOf(t);
      const proxy = await bearerProxy(mcp, token);
      t.after(() => proxy.stop());
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-conformance-"));
      t.after(() => fs.rmSync(folder, { recursive: true, force: true }));

      // Its exit code counts the scenarios that want fixtures, so what it wrote is read instead.
      const url = `${proxy.origin}/mcp`;
      const args = ["server", "--url", url, "--requirements", revision, "-o", folder];
      const said = await run(process.execPath, [/** @type {string} */ (suite.path), ...args], {
        timeoutMs: TIMEOUT_MS,
      });
      const scenarios = read(folder);
      assert.ok(scenarios.size >= 30, said.text);

      for (const [name, checks] of scenarios) {
        const wire = checks.filter(({ id }) => id === "wire-schema-valid");
        assert.deepEqual(failures(wire), [], `${name}: a message is not valid`);
      }
      /** @type {Record<string, string[]>} */
      const expected = {
        ...Object.fromEntries(SCENARIOS[revision].map((name) => [name, []])),
        ...IN_PART[revision],
      };
      for (const [name, failing] of Object.entries(expected)) {
        const checks = scenarios.get(name);
        assert.ok(checks && checks.length > 0, `${name} did not run`);
        const failed = failures(checks);
        assert.deepEqual(
          failed.map(({ id }) => id),
          failing,
          `${name}: ${failed.map(({ errorMessage }) => errorMessage).join("; ")}`,
        );
      }
    },
  );
}

/** @param {Check[]} checks */
function failures(checks) {
  return checks.filter(({ status }) => status === "FAILURE");
}

/**
 * What the suite wrote: a folder a scenario, named `server-<scenario>-<time>`.
 *
 * @param {string} folder
 * @returns {Map<string, Check[]>}
 */
function read(folder) {
  return new Map(
    fs.readdirSync(folder).map((name) => {
      const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[-\dZ]+$/, "");
      return [
        scenario,
        JSON.parse(fs.readFileSync(path.join(folder, name, "checks.json"), "utf8")),
      ];
    }),
  );
}

/** @returns {{path: string, missing: undefined} | {path: undefined, missing: string}} */
function conformanceSuite() {
  const name = "@modelcontextprotocol/conformance";
  const places = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const home = places.map((place) => path.join(place, name)).find((place) => fs.existsSync(place));
  const found =
    home && JSON.parse(fs.readFileSync(path.join(home, "package.json"), "utf8")).version;
  if (home && found === VERSION) {
    return { path: path.join(home, "dist", "index.js"), missing: undefined };
  }
  return {
    path: undefined,
    missing: `${name} ${VERSION} is missing (${found ?? "none"} is there)`,
  };
}
