// Rule: Cloudflare Access signs in whom an admin has bound to a token, and nobody else: an assertion is
// held against the team's keys, the application, the clock, with each request; a token that is revoked
// takes the person with it.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import http from "node:http";
import { after, before, test } from "node:test";
import { ADMIN_TOKEN, start } from "./harness.mjs";
import { csrfOf, principal, visitor } from "./support/visitor.mjs";

const TAG = "0123456789abcdef".repeat(4);
const pair = () => crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
const [own, foreign] = [pair(), pair()];

/** @type {import("node:http").Server} */
let team;
/** @type {string} */
let issuer;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
let asked = 0;
before(async () => {
  team = http.createServer((req, res) => {
    asked++;
    const key = { ...own.publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" };
    res.writeHead(req.url === "/cdn-cgi/access/certs" ? 200 : 404, {
      "content-type": "application/json",
    });
    res.end(JSON.stringify({ keys: [key, { kid: "other", kty: "EC" }] }));
  });
  await new Promise((done) => team.listen(0, "127.0.0.1", () => done(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (team.address());
  issuer = `http://127.0.0.1:${port}`;
  const vars = {
    HOLDFAST_ACCESS_TEAM: issuer,
    HOLDFAST_ACCESS_AUDIENCE: `${"f".repeat(64)},${TAG}`,
  };
  w = await start({ vars, outbound: "network" });
});
after(async () => {
  await w?.stop();
  team.close();
});

/** @param {unknown} value */
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = () => Math.floor(Date.now() / 1000);

/** @typedef {(text: string) => Buffer | string} Sign */

/** @type {(key: crypto.KeyObject) => Sign} */
const rs256 = (key) => (text) => crypto.sign("sha256", Buffer.from(text), key);

/**
 * @param {Record<string, unknown>} [claims]
 * @param {Record<string, unknown>} [head]
 * @param {Sign} [sign]
 */
function assertion(claims = {}, head = {}, sign = rs256(own.privateKey)) {
  const times = { iat: now() - 5, nbf: now() - 5, exp: now() + 600 };
  const whole = {
    iss: issuer,
    aud: [TAG],
    email: "ada@example.com",
    type: "app",
    ...times,
    ...claims,
  };
  const text = `${part({ alg: "RS256", kid: "k1", ...head })}.${part(whole)}`;
  return `${text}.${Buffer.from(sign(text)).toString("base64url")}`;
}

/** @param {string} token @param {string} place @param {RequestInit} [init] */
async function ask(token, place, init = {}) {
  const headers = { ...init.headers, "cf-access-jwt-assertion": token };
  const answer = await w.fetch(place, { ...init, headers, token: null });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** @param {Record<string, unknown>} wanted */
const make = (wanted) => w.json("/v1/tokens", wanted, { token: ADMIN_TOKEN });

test("whoever is bound to a token is what the token is", async () => {
  const p = await principal(w);
  const nobody = await ask(assertion(), "/");
  assert.equal(nobody.status, 401);
  assert.match(nobody.text, /No token of this deployment is bound to ada@example\.com/);
  const bound = { label: "Ada", principal: p.name, scopes: ["approve", "runs", "execute"] };
  const made = await make({ ...bound, email: "Ada@Example.com" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.email, "ada@example.com");
  const token = assertion({ email: "ADA@example.com" });
  const page = await ask(token, "/");
  assert.equal(page.status, 200, page.text);
  assert.match(page.text, new RegExp(`class="name"[^>]*>${p.name}<`));
  assert.match(page.text, /href="\/cdn-cgi\/access\/logout"/, "Access signs out");
  assert.equal(page.headers.get("set-cookie"), null, "nothing outlives the assertion");
  assert.equal((await ask(token, "/policies")).status, 403, "and no more than the token");

  const form = (/** @type {Record<string, string>} */ fields, origin = w.url) => ({
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { origin, "content-type": "application/x-www-form-urlencoded" },
  });
  const csrf = csrfOf(page.text);
  const run = await ask(token, "/runs", form({ csrf, code: "return 1" }));
  assert.equal(run.status, 303, run.text);
  for (const bad of [
    form({ csrf: "", code: "1" }),
    form({ csrf, code: "1" }, "https://evil.example"),
  ]) {
    assert.equal((await ask(token, "/runs", bad)).status, 403);
  }
  const later = assertion({ iat: now() - 4 });
  assert.equal((await ask(later, "/runs", form({ csrf, code: "1" }))).status, 403, "its own form");

  const api = await ask(token, "/v1/runs");
  assert.equal(api.status, 401, "HTTP takes tokens only");
  assert.equal(
    (await w.fetch("/", { token: null, redirect: "manual" })).status,
    303,
    "without it: sign in",
  );
  const before = asked;
  for (let i = 0; i < 5; i++) assert.equal((await ask(assertion(), "/")).status, 200);
  assert.equal(asked, before, "the keys are kept");
  const revoked = await w.json(`/v1/tokens/${made.body.id}`, undefined, { method: "DELETE" });
  assert.equal(revoked.status, 200, "an admin ends what an admin bound");
  assert.equal((await ask(token, "/")).status, 401);
});

test("what is not right in every part signs nobody in", async () => {
  const p = await principal(w);
  await make({ label: "Eve", principal: p.name, scopes: ["runs"], email: "eve@example.com" });
  const eve = { email: "eve@example.com" };
  assert.equal((await ask(assertion(eve), "/")).status, 200);
  const pem = own.publicKey.export({ type: "spki", format: "pem" });
  const der = own.publicKey.export({ type: "spki", format: "der" });
  const hmac = (/** @type {string | Buffer} */ key) => (/** @type {string} */ text) =>
    crypto.createHmac("sha256", key).update(text).digest();
  const [head, , signature] = assertion(eve).split(".");
  const good = assertion(eve);
  const other = part({ iss: issuer, aud: [TAG], exp: now() + 600, ...eve, extra: 1 });
  const pss = (/** @type {string} */ text) =>
    crypto.sign("sha256", Buffer.from(text), {
      key: own.privateKey,
      padding: crypto.constants.RSA_PKCS1_PSS_PADDING,
    });
  for (const [what, token, why] of /** @type {[string, string, RegExp][]} */ ([
    ["another's key", assertion(eve, {}, rs256(foreign.privateKey)), /signature that is wrong/],
    ["other claims", `${head}.${other}.${signature}`, /signature that is wrong/],
    ["no signature", `${good.slice(0, good.lastIndexOf("."))}.`, /signature that is wrong/],
    ["another padding", assertion(eve, {}, pss), /signature that is wrong/],
    ["alg none", assertion(eve, { alg: "none" }, () => ""), /not signed by RS256/],
    ["HS256 by the PEM", assertion(eve, { alg: "HS256" }, hmac(pem)), /not signed by RS256/],
    ["RS256 by an HMAC of the PEM", assertion(eve, {}, hmac(pem)), /signature that is wrong/],
    ["RS256 by an HMAC of the DER", assertion(eve, {}, hmac(der)), /signature that is wrong/],
    ["an unknown key", assertion(eve, { kid: "k2" }), /a key that the team does not have/],
    [
      "a key of another kind",
      assertion(eve, { kid: "other" }),
      /a key that the team does not have/,
    ],
    [
      "another application",
      assertion({ ...eve, aud: ["e".repeat(64)] }),
      /for another application/,
    ],
    [
      "another team",
      assertion({ ...eve, iss: "https://evil.cloudflareaccess.com" }),
      /another team/,
    ],
    ["an expired one", assertion({ ...eve, exp: now() - 61 }), /has expired/],
    ["one of tomorrow", assertion({ ...eve, nbf: now() + 3_600 }), /does not hold yet/],
    ["a service's", assertion({ ...eve, email: undefined, common_name: "x" }), /names no e-mail/],
    ["no assertion", "a.b.c", /The assertion of Cloudflare Access is none/],
  ])) {
    const answer = await ask(token, "/");
    assert.equal(answer.status, 401, what);
    assert.match(answer.text, why, what);
    assert.match(answer.text, /HF_E1504/, what);
    assert.doesNotMatch(answer.text, /class="who"/, what);
  }
  for (const place of ["/sign-in", "/docs", "/docs/errors/HF_E1504"]) {
    assert.equal((await ask("a.b.c", place)).status, 200, `${place} is for everybody`);
  }
});

test("unknown keys do not have the keys read again each time", async () => {
  const before = asked;
  for (let i = 0; i < 10; i++) {
    assert.equal((await ask(assertion({}, { kid: `none-${i}` }), "/")).status, 401);
  }
  assert.ok(asked - before <= 1, `${asked - before} requests`);
});

test("only the admin binds, and an e-mail has one token", async () => {
  const p = await principal(w);
  const wanted = { label: "x", scopes: ["runs"], email: "grace@example.com" };
  const refused = await w.json("/v1/tokens", wanted, { token: p.person });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.field, "email");
  for (const email of ["", "grace", "a b@example.com", "a@b@c"]) {
    assert.equal((await make({ ...wanted, email })).status, 400, email);
  }
  const first = await make({ ...wanted, principal: "first" });
  const second = await make({ ...wanted, principal: "second" });
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.match(
    (await ask(assertion({ email: wanted.email }), "/")).text,
    /class="name"[^>]*>second</,
  );
  const { body } = await w.json("/v1/tokens");
  const bound = body.tokens.filter((/** @type {any} */ one) => one.email === wanted.email);
  assert.deepEqual(
    bound.map((/** @type {any} */ one) => one.principal),
    ["second"],
  );
  const other = await w.json("/v1/tokens", undefined, { token: p.person });
  assert.ok(other.body.tokens.every((/** @type {any} */ one) => one.principal === p.name));
  const foreign = await w.json(`/v1/tokens/${second.body.id}`, undefined, {
    method: "DELETE",
    token: p.person,
  });
  assert.equal(foreign.status, 404, "nobody else ends it");

  const v = visitor(w);
  await v.signIn(ADMIN_TOKEN, "/tokens");
  const page = await v.get("/tokens");
  assert.match(page.text, /grace@example\.com/);
  const fields = { label: "Grace", principal: "third", email: "Grace@example.com", life: "day" };
  const made = await v.post("/tokens", { ...fields, scope: "runs" }, { csrf: csrfOf(page.text) });
  assert.equal(made.status, 200, made.text);
  assert.match(
    (await ask(assertion({ email: wanted.email }), "/")).text,
    /class="name"[^>]*>third</,
  );
  assert.equal((await v.get("/")).status, 200);
});
