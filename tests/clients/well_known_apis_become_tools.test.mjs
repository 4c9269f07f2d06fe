// Rule: the OpenAPI document of a public API, as its makers publish it, is connected, searched, described and
// called; what fails says why, and what is slow is ended. The service behind each is a mock that holds every
// request against the same document (sources/openapi_mock.mjs). None of these documents is without a fault.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sleep, start } from "../worker/harness.mjs";
import { endsSlowCalls, here, moduleOf, upstream } from "./sources/upstream.mjs";

/** What the mock takes for every credential. */
const CREDENTIAL = "s3cret-of-the-mock";

/**
 * @typedef {object} Case
 * @property {string} name of the source
 * @property {string} document
 * @property {number} tools the operations of the document
 * @property {string} scheme the security scheme that is bound
 * @property {string} header where the document says that it goes
 * @property {[query: string, path: string]} search
 * @property {[path: string, types: RegExp[]]} describe
 * @property {[code: string, operation: string, query: Record<string, string>, body?: unknown][]} calls
 * @property {[code: string, message: RegExp]} unfit arguments that the document does not allow
 * @property {[method: string, path: string, body?: unknown]} refused the same, past us: the mock does look
 * @property {string} missing a call of what is not there
 * @property {[code: string, operation: string]} slow
 */

/** @type {Case[]} */
const CASES = [
  {
    // OpenAPI 3.1, YAML.
    name: "figma",
    document: "@figma/rest-api-spec/openapi/openapi.yaml",
    tools: 54,
    scheme: "PersonalAccessToken",
    header: "x-figma-token",
    search: ["post a comment on a file", "figma.Comments.postComment"],
    describe: ["figma.Comments.postComment", [/message: string/, /file_key: string/]],
    calls: [
      [
        `tools.figma.Comments.getComments({ file_key: "a/b", as_md: true })
          .then(({ comments }) => typeof comments[0].message)`,
        "GET /v1/files/{file_key}/comments",
        { as_md: "true" },
      ],
      [
        `tools.figma.Comments.postComment({ file_key: "k", body: { message: "grüß", client_meta: { x: 1, y: 2 } } })
          .then(({ message }) => typeof message)`,
        "POST /v1/files/{file_key}/comments",
        {},
        { message: "grüß", client_meta: { x: 1, y: 2 } },
      ],
    ],
    unfit: [
      `tools.figma.Comments.postComment({ file_key: "k", body: { mesage: "x" } })`,
      /arguments\.body\.message is required/,
    ],
    refused: ["POST", "/v1/files/k/comments", { mesage: "x" }],
    missing: `tools.figma.Comments.getComments({ file_key: "missing" })`,
    slow: [`tools.figma.Users.getMe()`, "GET /v1/me"],
  },
  {
    // OpenAPI 3.0, JSON of 8.6 MB.
    name: "shipengine",
    document: "shipengine-openapi/openapi.json",
    tools: 76,
    scheme: "api_key",
    header: "api-key",
    search: ["rename a tag", "shipengine.tags.rename_tag"],
    describe: ["shipengine.labels.list_labels", [/label_status\?:/, /"completed"/]],
    calls: [
      [
        `tools.shipengine.labels.list_labels({ label_status: "completed", page: 2 })
          .then(({ labels, total }) => (Array.isArray(labels) ? typeof total : "no list"))`,
        "GET /v1/labels",
        { label_status: "completed", page: "2" },
      ],
      [
        `tools.shipengine.addresses.parse_address({ body: { text: "1 Main St, Austin TX" } })
          .then(({ score }) => typeof score)`,
        "PUT /v1/addresses/recognize",
        {},
        { text: "1 Main St, Austin TX" },
      ],
    ],
    unfit: [
      `tools.shipengine.labels.list_labels({ label_status: "lost" })`,
      /arguments\.label_status must be one of/,
    ],
    refused: ["GET", "/v1/labels?label_status=lost"],
    missing: `tools.shipengine.labels.get_label_by_id({ label_id: "se-missing" })`,
    slow: [`tools.shipengine.carriers.list_carriers()`, "GET /v1/carriers"],
  },
  {
    // OpenAPI 3.0, YAML, hardly an operation with an id.
    name: "blockfrost",
    document: "@blockfrost/openapi/openapi.yaml",
    tools: 129,
    scheme: "project_id",
    header: "project_id",
    search: ["latest block", "blockfrost.CardanoBlocks.getBlocksLatest"],
    describe: [
      "blockfrost.CardanoAccounts.getAccountsStake_addressRewards",
      [/stake_address: string/, /order\?: "asc" \| "desc"/],
    ],
    calls: [
      [
        `tools.blockfrost.CardanoBlocks.getBlocksLatest().then(({ height }) => typeof height)`,
        "GET /blocks/latest",
        {},
      ],
      [
        `tools.blockfrost.CardanoAccounts.getAccountsStake_addressRewards({ stake_address: "stake1", count: 5 })
          .then(([reward]) => typeof reward.amount)`,
        "GET /accounts/{stake_address}/rewards",
        { count: "5" },
      ],
    ],
    unfit: [
      `tools.blockfrost.CardanoAccounts.getAccountsStake_addressRewards({ stake_address: "s", count: 1000 })`,
      /arguments\.count must be/,
    ],
    refused: ["GET", "/accounts/s/rewards?count=1000"],
    missing: `tools.blockfrost.CardanoPools.getPoolsPool_id({ pool_id: "missing" })`,
    slow: [`tools.blockfrost.CardanoNetwork.getNetwork()`, "GET /network"],
  },
];

for (const one of CASES) {
  describe(one.name, { timeout: 120_000 }, () => {
    /** @type {Awaited<ReturnType<typeof upstream>>} */
    let server;
    /** @type {Awaited<ReturnType<typeof start>>} */
    let w;
    /** @type {(settings?: object) => object} */
    let settings;
    const heard = async () => {
      const signal = AbortSignal.timeout(5_000);
      return (await fetch(`${server.origin}/__mocks/heard`, { signal })).json();
    };
    before(async () => {
      const mock = here("openapi_mock.mjs");
      const document = moduleOf(one.document);
      server = await upstream(
        (port) => ({
          file: process.execPath,
          args: [mock, String(port), document, one.slow[1]],
        }),
        "/__mocks/heard",
      );
      const { origin } = server;
      w = await start({
        vars: { HOLDFAST_SOURCE_HOSTS: `public, ${origin}` },
        outbound: "network",
      });
      const url = `${origin}/__mocks/document`;
      settings = (more = {}) => ({ kind: "openapi", url, server: origin, ...more });
      const secret = {
        value: CREDENTIAL,
        sources: [one.name],
        hosts: [origin],
        headers: [one.header],
      };
      await w.json("/v1/secrets/of-the-mock", secret, { method: "PUT" });
    });
    after(async () => {
      await w?.stop();
      await server?.stop();
    });

    test("it is connected, every operation of it", async () => {
      const put = (/** @type {object} */ body, query = "") =>
        w.json(`/v1/sources/${one.name}${query}`, body, { method: "PUT" });
      const began = Date.now();
      const { body: dry } = await put(settings(), "?dryRun=1");
      assert.equal(dry.toolCount, one.tools, JSON.stringify(dry).slice(0, 2_000));
      assert.ok(!dry.leftOut.some((/** @type {any} */ left) => left.whole), "a tool is missing");
      const named = dry.credentials.find((/** @type {any} */ { scheme }) => scheme === one.scheme);
      assert.equal(named?.place.name, one.header);
      const { body } = await put(settings());
      assert.equal(body.state, "ready", JSON.stringify(body.error));
      assert.ok(Date.now() - began < 20_000, `it took ${Date.now() - began} ms`);
    });

    test("without credentials the service's own refusal is told", async () => {
      const run = await w.execute(`return ${one.calls[0]?.[0]}`);
      assert.equal(run.status, "failed");
      assert.match(run.error, /answered 401 Unauthorized: no valid credentials/);
      const auth = [{ secret: "of-the-mock", scheme: one.scheme }];
      const { body } = await w.json(`/v1/sources/${one.name}`, settings({ auth }), {
        method: "PUT",
      });
      assert.equal(body.state, "ready", JSON.stringify(body.error));
    });

    test("what it can do is found and described", async () => {
      const [query, path] = one.search;
      const run = await w.execute({ code: `return tools.search(params)`, params: { query } });
      assert.equal(run.result?.tools[0].path, path, JSON.stringify(run));
      const [described, types] = one.describe;
      const { body } = await w.json(`/v1/tools/${described}`);
      for (const type of types) assert.match(body.typescript, type);
    });

    test("its operations are called as the document says, with the credential where it says", async () => {
      for (const [code, operation, query, sent] of one.calls) {
        const run = await w.execute(`return ${code}`);
        assert.ok(["string", "number"].includes(run.result), `${code}: ${run.error ?? run.result}`);
        const last = (await heard()).at(-1);
        assert.deepEqual(last, {
          operation,
          validated: true,
          query,
          ...(sent === undefined ? {} : { body: sent }),
          credentials: [one.header],
          left: false,
        });
      }
    });

    test("what fails says why, with status and body", async () => {
      const [code, message] = one.unfit;
      const before = (await heard()).length;
      const run = await w.execute(`return ${code}`);
      assert.equal(run.status, "failed");
      assert.match(run.error, message);
      assert.equal((await heard()).length, before, "it was sent all the same");
      const [method, path, sent] = one.refused;
      const headers = { [one.header]: CREDENTIAL, "content-type": "application/json" };
      const body = sent === undefined ? undefined : JSON.stringify(sent);
      const refused = await fetch(server.origin + path, { method, headers, body });
      assert.equal(refused.status, 400, await refused.text());
      const missing = await w.execute(
        `try { await ${one.missing} } catch ({ code, data }) { return { code, data } }`,
      );
      assert.deepEqual(missing.result, {
        code: "404",
        data: { status: 404, body: { message: "nothing has this name" } },
      });
    });

    test("a slow call ends at its limit, and one that nobody waits for ends with its run", async () => {
      const [code, operation] = one.slow;
      await endsSlowCalls(w, code);
      const slow = async () =>
        (await heard()).filter((/** @type {any} */ entry) => entry.operation === operation);
      // A hang-up is seen when it comes.
      for (let waited = 0; waited < 5_000 && !(await slow()).at(-1)?.left; waited += 100) {
        await sleep(100);
      }
      const left = (await slow()).map((/** @type {any} */ entry) => entry.left);
      assert.deepEqual(left, [true, true], "the service was not told");
    });
  });
}
