// Rule: bad input gets one JSON error with code, kind, message and next step; never a 500, and
// nothing is stored.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

const json = { "content-type": "application/json" };
const post = (/** @type {string} */ body, headers = json) => ({ method: "POST", headers, body });

/** @type {[string, string, import("./harness.mjs").Init, number, string, RegExp][]} */
const CASES = [
  ["nothing", "/v1/runs", post(""), 400, "invalid_request", /not JSON/],
  ["no JSON", "/v1/runs", post("{"), 400, "invalid_request", /line 1, column 1/],
  ["a list", "/v1/runs", post("[]"), 400, "invalid_request", /./],
  ["a text", "/v1/runs", post('"x"'), 400, "invalid_request", /./],
  ["no code", "/v1/runs", post("{}"), 400, "invalid_request", /`code`/],
  ["code of a wrong type", "/v1/runs", post('{"code":5}'), 400, "invalid_request", /integer `5`/],
  ["an unknown field", "/v1/runs", post('{"code":"1","x":1}'), 400, "invalid_request", /`x`/],
  ...["0", "-1", "1.5", '"90"', "90001", "1e99", "[]"].map(
    (ms) =>
      /** @type {any} */ ([
        `budgetMs ${ms}`,
        "/v1/runs",
        post(`{"code":"1","budgetMs":${ms}}`),
        400,
        "invalid_request",
        /budgetMs/,
      ]),
  ),
  ["budgetMs NaN", "/v1/runs", post('{"code":"1","budgetMs":NaN}'), 400, "invalid_request", /JSON/],
  [
    "a raised limit",
    "/v1/runs",
    post('{"code":"1","limits":{"dispatches":9999}}'),
    400,
    "invalid_request",
    /dispatches/,
  ],
  [
    "an unknown limit",
    "/v1/runs",
    post('{"code":"1","limits":{"x":1}}'),
    400,
    "invalid_request",
    /limits\.x/,
  ],
  [
    "a label with a line break",
    "/v1/runs",
    post('{"code":"1","label":"a\\nb"}'),
    400,
    "invalid_request",
    /label/,
  ],
  [
    "1 MB of code",
    "/v1/runs",
    post(JSON.stringify({ code: "1;".repeat(524_288) })),
    413,
    "limit_exceeded",
    /262144/,
  ],
  [
    "a body over the limit",
    "/v1/runs",
    post(JSON.stringify({ code: "1", params: "x".repeat(5_000_000) })),
    413,
    "limit_exceeded",
    /4194304/,
  ],
  [
    "another content type",
    "/v1/runs",
    post('{"code":"1"}', { "content-type": "text/plain" }),
    415,
    "invalid_request",
    /text\/plain/,
  ],
  ["a wrong method", "/v1/runs", { method: "DELETE" }, 405, "invalid_request", /DELETE/],
  [
    "a wrong method of a run",
    "/v1/runs/run_1",
    { ...post("{}"), method: "PUT" },
    405,
    "invalid_request",
    /POST|PUT/,
  ],
  [
    "an unknown run",
    "/v1/runs/run_00000000000000000000000000000000",
    {},
    404,
    "not_found",
    /no run/,
  ],
  ["an id that is none", "/v1/runs/%3Cscript%3E", {}, 404, "not_found", /no run/],
  ["an unknown path", "/v2/runs", {}, 404, "not_found", /nothing at/],
  ["a limit of 0", "/v1/runs?limit=0", {}, 400, "invalid_request", /limit/],
  ["a limit of 1000", "/v1/runs?limit=1000", {}, 400, "invalid_request", /limit/],
  ["an unknown status", "/v1/runs?status=done", {}, 400, "invalid_request", /status/],
  ["a forged cursor", "/v1/runs?cursor=1-'--", {}, 400, "invalid_request", /cursor/],
  ["an unknown parameter", "/v1/runs?page=2", {}, 400, "invalid_request", /page/],
];

for (const [name, path, init, status, kind, message] of CASES) {
  test(name, async () => {
    const answer = await w.fetch(path, init);
    const text = await answer.text();
    assert.equal(answer.status, status, text);
    assert.equal(answer.headers.get("content-type"), "application/json");
    const { error } = JSON.parse(text);
    assert.equal(error.kind, kind, text);
    assert.match(error.message, message);
    assert.match(error.code, /^HF_E\d{4}$/);
    assert.equal(answer.headers.get("x-holdfast-code"), error.code);
    assert.ok(error.nextStep.length > 20);
    if (status === 405) assert.match(answer.headers.get("allow") ?? "", /GET/);
  });
}

test("nothing was stored", async () => {
  for (const table of ["runs", "run_inputs", "run_responses", "dispatches", "line"]) {
    assert.deepEqual(await w.d1(`SELECT * FROM ${table}`), [], table);
  }
});
