// Rule: an agent does not change what gates it. Policies, tokens, secrets and decisions have scopes of
// their own, and a token that runs programs has them only if it may decide, too, which makes it a
// person's; a token hands on only what it has; rules for all are the admin's. What is blocked is not shown, and a call that cannot be made is
// refused before anybody is asked about it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { principal } from "./people.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

/** @param {string[]} scopes @param {string} of @param {string} [by] */
async function token(scopes, of, by) {
  const wanted = { label: "t", scopes, ...(by === undefined ? { principal: of } : {}) };
  const init = by === undefined ? {} : { token: by };
  return w.json("/v1/tokens", wanted, init);
}

test("no token of an agent runs programs and changes what gates them", async () => {
  for (const runs of ["execute", "invoke:math", "invoke:math/add"]) {
    for (const gates of ["policies", "tokens", "secrets"]) {
      const refused = await token([runs, gates], "gated");
      assert.equal(refused.status, 400, `${runs} ${gates}`);
      assert.match(refused.body.error.message, new RegExp(`${gates}.*${runs}`));
    }
  }
  for (const scopes of [
    ["execute", "runs", "packages", "sources"],
    ["policies", "tokens", "secrets", "runs", "packages", "sources"],
    ["approve", "execute", "policies", "tokens", "secrets"], // a person's
  ]) {
    assert.equal((await token(scopes, "gated")).status, 201, scopes.join(" "));
  }
});

test("a token that runs programs changes no policy, no token and no secret", async () => {
  const p = await principal(w);
  const agent = (await token(["execute", "runs", "packages", "sources"], p.name)).body.token;
  const mine = (await token(["runs"], p.name)).body.id;
  for (const [method, place, body] of [
    ["GET", "/v1/policies", undefined],
    ["PUT", "/v1/policies", { rules: [] }],
    ["DELETE", "/v1/policies", undefined],
    ["POST", "/v1/policies/test", { tool: "emit" }],
    ["GET", "/v1/compensations", undefined],
    ["PUT", "/v1/compensations", { list: [] }],
    ["DELETE", "/v1/compensations", undefined],
    ["GET", "/v1/tokens", undefined],
    ["POST", "/v1/tokens", { label: "t", scopes: ["execute"] }],
    ["DELETE", `/v1/tokens/${mine}`, undefined],
    ["GET", "/v1/approvals", undefined],
  ]) {
    const init = { method: String(method), token: agent };
    const answer = await w.json(String(place), body, init);
    assert.equal(answer.status, 403, `${method} ${place}`);
    assert.equal(answer.body.error.code, "HF_E1503", `${method} ${place}`);
  }
  const rules = (await w.json("/v1/policies", undefined, { token: p.rules })).body.own;
  assert.equal(rules.length, 3, "the rules stand");
});

test("a program has no way to what gates it", async () => {
  const p = await principal(w, []);
  for (const path of ["policies.put", "policies", "tokens.create", "secrets.set", "approvals"]) {
    const run = await p.run(`await tools.${path}({ rules: [] })`);
    assert.equal(run.errorDetails?.kind, "tool_not_found", `${path}: ${JSON.stringify(run)}`);
  }
});

test("a token hands on only what it has, to its own principal", async () => {
  const maker = (await token(["tokens", "runs"], "maker")).body.token;
  const wide = await token(["policies"], "maker", maker);
  assert.equal(wide.status, 403);
  assert.equal(wide.body.error.scope, "policies");
  for (const scope of ["approve", "execute", "secrets", "invoke:math"]) {
    assert.equal((await token([scope], "maker", maker)).status, 403, scope);
  }
  const same = await token(["runs"], "maker", maker);
  assert.equal(same.status, 201);
  assert.equal(same.body.principal, "maker");
});

test("rules for all are the admin's, and a principal's own only tighten them", async () => {
  const p = await principal(w, []);
  const all = { scope: "all", rules: [{ pattern: "storage.list", action: "block" }] };
  for (const [method, place, body] of [
    ["PUT", "/v1/policies", all],
    ["DELETE", "/v1/policies?scope=all", undefined],
  ]) {
    const refused = await w.json(String(place), body, { method: String(method), token: p.rules });
    assert.equal(refused.status, 403, `${method} ${place}`);
  }
  assert.equal((await w.json("/v1/policies", all, { method: "PUT" })).status, 200);
  const weaker = { rules: [{ pattern: "storage.list", action: "allow" }] };
  await w.json("/v1/policies", weaker, { method: "PUT", token: p.rules });
  const run = await p.run(`await tools.storage.list({})`);
  assert.equal(run.errorDetails.kind, "policy_blocked", JSON.stringify(run));
  assert.equal(run.errorDetails.rule.scope, "all");
  assert.equal(
    (await w.json("/v1/policies?scope=all", undefined, { method: "DELETE" })).status,
    200,
  );
});

test("a blocked tool is not among the near names", async () => {
  const open = await principal(w, []);
  const wrong = `await tools.storage.gett({ key: "a" })`;
  const told = await open.run(wrong);
  assert.match(told.error, /storage\.get/);
  const shut = await principal(w, [
    { pattern: "storage.get", action: "block" },
    { pattern: "storage.set", action: "block", when: [{ at: "/key", equals: "a" }] },
  ]);
  const hidden = await shut.run(wrong);
  assert.equal(hidden.errorDetails.kind, "tool_not_found");
  assert.doesNotMatch(JSON.stringify(hidden.errorDetails), /storage\.get[^t]/);
  assert.match(hidden.error, /storage\.set/, "what is blocked for some arguments is shown");
});

test("the description of execute names no blocked tool", async () => {
  /** @param {string} agent */
  const description = async (agent) => {
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const headers = { accept: "application/json", "mcp-protocol-version": "2025-11-25" };
    const answer = await w.json("/mcp", list, { token: agent, headers });
    return answer.body.result.tools.find((/** @type {any} */ tool) => tool.name === "execute")
      .description;
  };
  const open = await description((await principal(w, [])).agent);
  assert.match(open, /storage\.get/);
  assert.match(open, /http\.fetch/);
  const rules = [
    { pattern: "storage.*", action: "block" },
    { pattern: "http.fetch", action: "block" },
  ];
  const shut = await description((await principal(w, rules)).agent);
  assert.doesNotMatch(shut, /storage/);
  assert.doesNotMatch(shut, /http\.fetch/);
  assert.match(shut, /emit/);
});

test("a call that cannot be made is refused before anybody is asked about it", async () => {
  const rules = [{ pattern: "*", action: "ask" }];
  const p = await principal(w, rules);
  for (const [call, code] of [
    [`tools.storage.delete({ kee: "a" })`, "HF_E1604"],
    [`tools.storage.set({ key: "", value: 1 })`, "HF_E1604"],
    [`tools.storage.list({ limit: 0 })`, "HF_E1604"],
    [`tools.http.fetch({ url: "no address" })`, "HF_E1604"],
    [`tools.http.fetch({ url: "https://elsewhere.example/" })`, "HF_E1404"],
    [`tools.packages.invoke({ name: 7 })`, "HF_E1604"],
  ]) {
    const run = await p.run(`await ${call}`);
    assert.equal(run.status, "failed", `${call}: ${JSON.stringify(run)}`);
    assert.equal(run.errorDetails.code, code, call);
  }
  assert.deepEqual(await p.approvals(), []);
  const asked = await p.run(`await tools.storage.delete({ key: "a" })`);
  assert.equal(asked.status, "waiting_approval", "what can be made is asked about");
});
