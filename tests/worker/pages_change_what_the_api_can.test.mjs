// Rule: what the API can, a person can on the pages, with the same rights: make and end tokens, write rules
// and try them, roll a package back, invoke it; and nobody can who could not over the API.
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

/** @param {string} token @param {string} place */
async function at(token, place) {
  const v = visitor(w);
  assert.equal((await v.signIn(token)).status, 303);
  const page = await v.get(place);
  return {
    ...v,
    page,
    /** @param {string} to @param {Record<string, string>} fields */
    send: (to, fields) => v.post(to, fields, { csrf: csrfOf(page.text) }),
  };
}

test("a token is shown once, and works; its owner ends it", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/tokens");
  assert.doesNotMatch(v.page.text, /name="principal"/, "only the admin makes them for others");
  const fields = { label: "<i>Laptop</i>", scope: "execute", life: "day" };
  const made = await v.send("/tokens", fields);
  assert.equal(made.status, 200, made.text);
  const [token = ""] = /hf_[0-9a-f]{16}_[0-9a-f]{64}/.exec(made.text) ?? [];
  assert.equal((await w.execute("return 1", { token })).result, 1);
  const list = await v.get("/tokens");
  assert.match(list.text, /&lt;i&gt;Laptop&lt;\/i&gt;/);
  assert.ok(!list.text.includes(token.slice(20)), "it is shown once");
  const id = token.split("_")[1] ?? "";
  assert.equal((await v.send(`/tokens/${id}/revoke`, {})).status, 303);
  assert.equal((await w.json("/v1/runs", { code: "1" }, { token })).status, 401);
  assert.equal((await v.send("/tokens", { ...fields, label: "" })).status, 400);
  assert.equal((await v.send("/tokens", { ...fields, life: "aeon" })).status, 400);
});

test("nobody hands on what it has not, nor sees tokens without the scope", async () => {
  const p = await principal(w);
  const { token, id } = await p.token(["runs"], "mine");
  const v = await at(token, "/tokens");
  assert.equal(v.page.status, 200);
  assert.doesNotMatch(v.page.text, /name="scope"/);
  assert.equal((await v.send("/tokens", { label: "x", scope: "runs", life: "day" })).status, 403);
  assert.equal((await v.send(`/tokens/${p.personId}/revoke`, {})).status, 403);
  const other = await at((await p.token(["tokens", "runs"])).token, "/tokens");
  const more = await other.send("/tokens", { label: "x", scope: "secrets", life: "day" });
  assert.equal(more.status, 403);
  assert.equal((await v.send(`/tokens/${id}/revoke`, {})).status, 303, "one's own may be ended");
  assert.equal((await v.get("/tokens")).status, 303, "and with it the session");
});

test("a run that waits is cancelled where it asks, and what it did is undone", async () => {
  const p = await principal(w, [{ pattern: "storage.list", action: "ask" }]);
  const list = [{ pattern: "storage.set", by: "storage.delete", arguments: { key: "a" } }];
  const { token: keeper } = await p.token(["policies"]);
  await w.json("/v1/compensations", { list }, { method: "PUT", token: keeper });
  const code = `
    await tools.storage.set({ key: "a", value: 1 });
    await tools.storage.list({});`;
  const run = await w.execute(code, { token: p.agent });
  const [{ id }] = run.approvals;
  const decides = await at(p.person, `/approvals/${id}`);
  assert.match(decides.page.text, /Cancel the run/);
  assert.equal((await decides.send(`/approvals/${id}`, { decision: "cancel" })).status, 303);
  assert.match((await decides.get(`/approvals/${id}`)).text, /The run ended for another reason/);

  const looks = await at((await p.token(["runs"])).token, `/runs/${run.id}`);
  assert.match(looks.page.text, /can be undone by 1 call,/);
  assert.doesNotMatch(looks.page.text, /id="undo"/, "who may not execute does not undo");
  assert.equal((await looks.send(`/runs/${run.id}/rollback`, {})).status, 403);
  const v = await at(p.agent, `/runs/${run.id}`);
  assert.match(v.page.text, /id="undo"/);
  const undone = await v.send(`/runs/${run.id}/rollback`, {});
  assert.equal(undone.status, 303, undone.text);
  assert.deepEqual(await w.d1("SELECT key FROM storage WHERE principal = ?", p.name), []);
  const again = await v.send(`/runs/${run.id}/rollback`, {});
  assert.equal(
    again.headers.get("location"),
    undone.headers.get("location"),
    "once, however often it is asked for",
  );
  const page = (await v.get(`/runs/${run.id}`)).text;
  assert.ok(
    page.includes(`href="${undone.headers.get("location")}"`),
    "the run that undid it is shown",
  );
});

test("rules are written, tried and removed", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/policies");
  const rule = { scope: "own", add: "1", pattern: "mail.*", action: "block", note: "no <mail>" };
  const when = `[{"at": "/to", "notMatches": "*@example.com"}]`;
  assert.equal((await v.send("/policies", { ...rule, when })).status, 303);
  const { body } = await w.json("/v1/policies", undefined, { token: p.person });
  assert.deepEqual(body.own, [
    {
      pattern: "mail.*",
      when: [{ at: "/to", notMatches: "*@example.com" }],
      action: "block",
      note: "no <mail>",
    },
  ]);
  const tried = await v.send("/policies/test", {
    tool: "mail.send",
    arguments: `{"to": "eve@evil.example"}`,
  });
  assert.match(tried.text, /class="state bad">block</);
  assert.match(tried.text, /Rule number 1 of your own says so/);
  const fine = await v.send("/policies/test", {
    tool: "mail.send",
    arguments: `{"to": "ada@example.com"}`,
  });
  assert.match(fine.text, /class="state good">allow</);
  const stale = { scope: "own", remove: "1", rule: "storage.*" };
  assert.equal((await v.send("/policies", stale)).status, 400, "the list has changed meanwhile");
  const list = { scope: "own", replace: "1", rules: `[{"pattern": "a.b", "action": "ask"}]` };
  assert.equal((await v.send("/policies", list)).status, 303);
  assert.equal((await v.send("/policies", { ...stale, rule: "a.b" })).status, 303);
  for (const wrong of [
    { ...rule, when: "not JSON" },
    { ...rule, pattern: "a b" },
    { ...list, rules: "{}" },
  ]) {
    assert.equal((await v.send("/policies", wrong)).status, 400, JSON.stringify(wrong));
  }
  assert.equal((await v.send("/policies", { ...rule, scope: "all", when })).status, 403);
  const after = await w.json("/v1/policies", undefined, { token: p.person });
  assert.deepEqual(after.body, { all: [], own: [] });
  const admin = await at(ADMIN_TOKEN, "/policies");
  assert.equal((await admin.send("/policies", { ...rule, scope: "all", when })).status, 303);
  await w.json("/v1/policies?scope=all", undefined, { method: "DELETE" });
});

test("a package is looked at, rolled back, invoked and deleted", async () => {
  const p = await principal(w);
  for (const word of ["Hello", "Bonjour"]) {
    const modules = { "index.js": `export const greet = ({ who }) => "${word} " + who;` };
    const saved = await w.json(
      "/v1/packages/greeter",
      { modules, description: "Greets <b>people</b>." },
      { method: "PUT", token: p.agent },
    );
    assert.equal(saved.status, 201, JSON.stringify(saved.body));
  }
  const v = await at(p.person, "/packages/greeter");
  assert.match(v.page.text, /Greets &lt;b&gt;people&lt;\/b&gt;\./);
  assert.match(v.page.text, /Bonjour/);
  assert.match((await v.get("/packages/greeter?version=1")).text, /Hello/);
  assert.equal((await v.send("/packages/greeter/version", { version: "1" })).status, 303);
  const run = await v.send("/packages/greeter/greet", { params: `{"who": "Ada"}` });
  assert.equal(run.status, 303, run.text);
  const shown = await v.get(run.headers.get("location") ?? "");
  assert.match(shown.text, /Hello Ada/);
  assert.equal((await v.send("/packages/greeter/greet", { params: "{" })).status, 400);
  assert.equal((await v.send("/packages/greeter/nothing", { params: "{}" })).status, 404);
  assert.equal((await v.send("/packages/greeter/delete", {})).status, 303);
  assert.equal((await v.get("/packages/greeter")).status, 404);
});

test("a secret goes in and never comes out; a source is connected and disconnected", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/secrets");
  const fields = { name: "git-token", sources: "git hub", hosts: "api.example.com" };
  assert.equal((await v.send("/secrets", { ...fields, value: "hunter2-hunter2" })).status, 303);
  const list = await v.get("/secrets");
  assert.match(list.text, /git-token/);
  assert.match(list.text, /git, hub/);
  assert.ok(!list.text.includes("hunter2"));
  assert.equal((await v.send("/secrets", { ...fields, name: "No", value: "hunter2" })).status, 400);
  assert.equal((await v.send("/secrets/git-token/delete", {})).status, 303);
  assert.equal((await v.send("/secrets/git-token/delete", {})).status, 404);

  const document = {
    openapi: "3.1.0",
    info: { title: "Notes", version: "1" },
    servers: [{ url: "https://notes.example.com" }],
    paths: {
      "/notes": { get: { operationId: "list", responses: { 200: { description: "<b>" } } } },
    },
  };
  const settings = JSON.stringify({ kind: "openapi", document });
  const put = await v.send("/sources", { name: "notes", settings });
  assert.equal(put.status, 303, put.text);
  const shown = await v.get("/sources/notes");
  assert.equal(shown.status, 200, shown.text);
  assert.match(shown.text, /notes\.[\w.]*list/);
  assert.match((await v.get("/sources")).text, /href="\/sources\/notes"/);
  assert.equal((await v.send("/sources", { name: "notes", settings: "{" })).status, 400);
  assert.equal((await v.send("/sources/notes/delete", {})).status, 303);
  assert.equal((await v.get("/sources/notes")).status, 404);
  const { token } = await p.token(["runs"]);
  for (const place of ["/sources", "/secrets", "/policies", "/packages"]) {
    const blind = await at(token, place);
    assert.equal(blind.page.status, 403, place);
  }
});

test("an error's page is there for whoever meets the error", async () => {
  const v = visitor(w);
  const page = await v.get("/docs/errors/HF_E1302");
  assert.equal(page.status, 200);
  assert.match(page.text, /Next step\./);
  for (const place of ["/docs", "/docs/errors", "/docs/execute", "/docs/pages"]) {
    assert.equal((await v.get(place)).status, 200, place);
  }
  for (const place of ["/docs/nothing", "/docs/errors/HF_E0000", "/docs/errors/%3Cscript%3E"]) {
    assert.equal((await v.get(place)).status, 404, place);
  }
});

test("a form is answered only where there is one", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/tokens");
  for (const place of ["/", "/docs", "/packages", "/live", "/runs/run_1"]) {
    assert.equal((await v.send(place, {})).status, 405, place);
  }
  for (const place of ["/runs/run_1/cancel", "/policies/test", "/tokens/a/revoke"]) {
    assert.equal((await v.get(place)).status, 405, place);
  }
});
