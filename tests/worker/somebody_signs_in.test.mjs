// Rule: a token is posted once; then a cookie stands for it that scripts cannot read, that other sites
// cannot send, and that ends with the token. No form of another page counts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ADMIN_TOKEN, start } from "./harness.mjs";
import { csrfOf, principal, visitor } from "./support/visitor.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

const ASKS = [{ pattern: "storage.delete", action: "ask" }];

test("whoever is not signed in is asked, and comes back to where they were going", async () => {
  const p = await principal(w);
  const v = visitor(w);
  const asked = await v.get("/approvals?state=allowed");
  assert.equal(asked.status, 303);
  assert.equal(asked.headers.get("location"), "/sign-in?next=%2Fapprovals%3Fstate%3Dallowed");
  const done = await v.signIn(p.person, "/approvals?state=allowed");
  assert.equal(done.status, 303, done.text);
  assert.equal(done.headers.get("location"), "/approvals?state=allowed");
  const cookie = done.headers.getSetCookie().find((one) => one.startsWith("holdfast="));
  assert.match(
    cookie ?? "",
    /^holdfast=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
  );
  assert.ok(!cookie?.includes(p.person.split("_")[2] ?? ""), "the token is not in the cookie");
  const page = await v.get("/approvals");
  assert.equal(page.status, 200);
  assert.match(page.text, new RegExp(p.name));
});

test("a link of another site loads the page again from here, where the cookie comes along", async () => {
  const cross = { "sec-fetch-site": "cross-site" };
  const answer = await w.fetch("/approvals/apr_1", { token: null, headers: cross });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /http-equiv="refresh" content="0;url=\/approvals\/apr_1"/);
});

test("every page is under a policy that lets nothing of a page run", async () => {
  for (const place of ["/sign-in", "/approvals/%3Cscript%3E"]) {
    const v = visitor(w);
    if (place !== "/sign-in") await v.signIn(ADMIN_TOKEN);
    const page = await v.get(place);
    const policy = page.headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none';/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(page.headers.get("x-content-type-options"), "nosniff");
    assert.equal(page.headers.get("cache-control"), "no-store");
    assert.doesNotMatch(page.text, /<script(?! src="\/assets\/page\.[0-9a-f]{16}\.js")/);
    assert.doesNotMatch(page.text, /\sstyle="|\son[a-z]+="/);
  }
});

test("style and script are kept for ever under names that change with them", async () => {
  const page = await visitor(w).get("/sign-in");
  const files = [...page.text.matchAll(/\/assets\/[\w.]+/g)].map(([file]) => file);
  assert.ok(files.length >= 3, page.text);
  for (const file of new Set(files)) {
    const answer = await w.fetch(file, { token: null });
    assert.equal(answer.status, 200, file);
    assert.match(answer.headers.get("cache-control") ?? "", /immutable/);
  }
  assert.equal((await visitor(w).get("/assets/style.css")).status, 404);
});

test("revoking the token ends its sessions at once, and so does signing out", async () => {
  const p = await principal(w);
  const [a, b] = [visitor(w), visitor(w)];
  await a.signIn(p.person);
  await b.signIn(p.person);
  const page = await a.get("/approvals");
  const kept = new Map(a.cookies);
  const out = await a.post("/sign-out", {}, { csrf: csrfOf(page.text) });
  assert.equal(out.status, 303);
  assert.equal(a.cookies.has("holdfast"), false);
  for (const [name, value] of kept) a.cookies.set(name, value);
  assert.equal((await a.get("/approvals")).status, 303, "the old cookie is worth nothing");
  assert.equal((await b.get("/approvals")).status, 200, "the other browser stays");
  await w.json(`/v1/tokens/${p.personId}`, undefined, { method: "DELETE", token: p.person });
  assert.equal((await b.get("/approvals")).status, 303);
});

test("a form counts with its secret and from our own pages only", async () => {
  const p = await principal(w, ASKS);
  const run = await p.run(`await tools.storage.delete({ key: "a" })`);
  const place = `/approvals/${run.approvals[0].id}`;
  const v = visitor(w);
  await v.signIn(p.person);
  const csrf = csrfOf((await v.get(place)).text);
  const other = visitor(w);
  await other.signIn(p.person);
  const others = csrfOf((await other.get(place)).text);
  assert.notEqual(csrf, others, "each session has its own");
  const allow = { decision: "allow" };
  for (const as of [
    { csrf: "" },
    { csrf: others },
    { csrf, origin: "https://evil.example" },
    { csrf, origin: "null" },
  ]) {
    const answer = await v.post(place, allow, as);
    assert.equal(answer.status, 403, JSON.stringify(as));
  }
  const [row] = await w.d1("SELECT state FROM approvals WHERE run_id = ?", run.id);
  assert.equal(row.state, "open");
  const cookie = await w.fetch("/v1/runs", {
    token: null,
    headers: { cookie: [...v.cookies].map((pair) => pair.join("=")).join("; ") },
  });
  assert.equal(cookie.status, 401, "the cookie is for pages, not for the API");
});

test("the admin token looks and does not decide; who may only execute sees nothing of it", async () => {
  const rules = { rules: ASKS };
  await w.json("/v1/policies", rules, { method: "PUT", token: ADMIN_TOKEN });
  const run = await w.execute(`await tools.storage.delete({ key: "a" })`);
  const place = `/approvals/${run.approvals[0].id}`;
  const v = visitor(w);
  assert.equal((await v.signIn(ADMIN_TOKEN)).status, 303);
  const page = await v.get(place);
  assert.equal(page.status, 200, page.text);
  assert.doesNotMatch(page.text, /value="allow"/);
  const tried = await v.post(place, { decision: "allow" }, { csrf: csrfOf(page.text) });
  assert.equal(tried.status, 403);

  const p = await principal(w, ASKS);
  const theirs = await p.run(`await tools.storage.delete({ key: "a" })`);
  const { token } = await p.token(["execute"]);
  const blind = visitor(w);
  await blind.signIn(token);
  assert.equal((await blind.get(`/approvals/${theirs.approvals[0].id}`)).status, 403);
  assert.equal(
    (await v.get(`/approvals/${theirs.approvals[0].id}`)).status,
    404,
    "not the admin's",
  );
});

test("another admin token ends the admin's sessions", async () => {
  const v = visitor(w);
  await v.signIn(ADMIN_TOKEN);
  await w.d1("UPDATE sessions SET proof = ? WHERE token_id IS NULL", "0".repeat(64));
  assert.equal((await v.get("/approvals")).status, 303);
});

test("signing in leads nowhere but here", async () => {
  for (const next of ["https://evil.example/", "//evil.example", "/\\evil.example"]) {
    const done = await visitor(w).signIn(ADMIN_TOKEN, next);
    assert.equal(done.status, 303);
    assert.equal(done.headers.get("location"), "/");
  }
});

test("tries are bound, and a token is in no log and no place", async () => {
  const secret = "a-token-that-nobody-has";
  const v = visitor(w);
  const codes = [];
  for (let i = 0; i < 12; i++) codes.push((await v.signIn(secret)).status);
  assert.deepEqual(codes, [...Array(10).fill(401), 429, 429]);
  assert.equal((await v.signIn(ADMIN_TOKEN)).status, 429, "the right one has to wait as well");
  await w.d1("UPDATE sign_in_tries SET since = since - 900001");
  assert.equal((await v.signIn(ADMIN_TOKEN)).status, 303);
  await w.scheduled();
  assert.ok(!w.logs.join("\n").includes(secret));
  const rows = JSON.stringify(await w.d1("SELECT * FROM sessions"));
  assert.ok(!rows.includes(ADMIN_TOKEN) && !rows.includes(v.cookies.get("holdfast") ?? "?"));
});

test("sessions that have ended are forgotten", async () => {
  const v = visitor(w);
  await v.signIn(ADMIN_TOKEN);
  await w.d1("UPDATE sessions SET expires_at = 1");
  assert.equal((await v.get("/approvals")).status, 303);
  await w.scheduled();
  assert.deepEqual(await w.d1("SELECT hash FROM sessions"), []);
});
