// Rule: no token is 401 with a challenge, a missing scope 403, somebody else's run 404; a revoked or
// expired token works no more. Secrets are stored as hashes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

/** @param {Record<string, unknown>} body */
async function token(body) {
  const made = await w.json("/v1/tokens", { label: "t", ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body;
}

test("without a valid token there is a challenge and nothing else", async () => {
  for (const [given, challenge] of [
    [null, "Bearer"],
    ["wrong", 'Bearer error="invalid_token"'],
    ["hf_0123456789abcdef_" + "0".repeat(64), 'Bearer error="invalid_token"'],
  ]) {
    const answer = await w.json("/v1/runs", { code: "1" }, { token: given });
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("www-authenticate"), challenge);
    assert.equal(answer.body.error.kind, "unauthenticated");
  }
});

test("a token may what its scopes say", async () => {
  const { token: reads } = await token({ principal: "ada", scopes: ["runs"] });
  const refused = await w.json("/v1/runs", { code: "1" }, { token: reads });
  assert.equal(refused.status, 403);
  assert.match(refused.headers.get("www-authenticate") ?? "", /insufficient_scope.*execute/);
  assert.equal((await w.json("/v1/runs", undefined, { token: reads })).status, 200);
});

test("one principal never sees another's run or storage", async () => {
  const scopes = ["execute", "runs"];
  const { token: ada } = await token({ principal: "ada", scopes });
  const { token: bob } = await token({ principal: "bob", scopes });
  const run = await w.execute(
    'await tools.storage.set({ key: "secret", value: "of ada" }); return 1',
    { token: ada },
  );
  for (const other of [bob, undefined]) {
    const looked = await w.json(`/v1/runs/${run.id}`, undefined, other ? { token: other } : {});
    assert.equal(looked.status, 404);
    assert.equal(looked.body.error.kind, "not_found");
  }
  assert.equal((await w.json(`/v1/runs/${run.id}/cancel`, {}, { token: bob })).status, 404);
  const listed = await w.json("/v1/runs", undefined, { token: bob });
  assert.deepEqual(listed.body.runs, []);
  const stolen = await w.execute('return await tools.storage.get({ key: "secret" })', {
    token: bob,
  });
  assert.deepEqual(stolen.result, {});
  const own = await w.execute('return await tools.storage.get({ key: "secret" })', { token: ada });
  assert.deepEqual(own.result, { value: "of ada" });
});

test("a revoked token and an expired one work no more", async () => {
  const made = await token({ scopes: ["runs"] });
  assert.equal((await w.json("/v1/runs", undefined, { token: made.token })).status, 200);
  const revoked = await w.json(`/v1/tokens/${made.id}`, undefined, { method: "DELETE" });
  assert.equal(revoked.status, 200);
  assert.equal((await w.json("/v1/runs", undefined, { token: made.token })).status, 401);
  const short = await token({ scopes: ["runs"], expiresInMs: 1 });
  await sleep(50);
  assert.equal((await w.json("/v1/runs", undefined, { token: short.token })).status, 401);
});

test("nobody hands on a scope that it does not have", async () => {
  const { token: maker } = await token({ principal: "eve", scopes: ["tokens", "runs"] });
  const wide = await w.json("/v1/tokens", { label: "t", scopes: ["execute"] }, { token: maker });
  assert.equal(wide.status, 403);
  const other = await w.json(
    "/v1/tokens",
    { label: "t", scopes: ["runs"], principal: "ada" },
    { token: maker },
  );
  assert.equal(other.status, 400);
});

test("a secret is stored as its hash only, and shown once", async () => {
  const made = await token({ scopes: ["runs"] });
  const secret = made.token.split("_")[2];
  const rows = JSON.stringify(await w.d1("SELECT * FROM tokens"));
  assert.ok(!rows.includes(secret));
  const listed = JSON.stringify((await w.json("/v1/tokens")).body);
  assert.ok(!listed.includes(secret) && listed.includes(made.id));
});
