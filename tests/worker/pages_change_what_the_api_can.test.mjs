// Rule: what the API can, a person can on the pages, with the same rights: make and end tokens, write rules
// and try them, save a package, roll it back, invoke it, put schedules, keep services at work; and nobody can who could not over the API.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ADMIN_TOKEN, start, until } from "./harness.mjs";
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

test("a package is saved; what is wrong is said in place, and nothing typed is lost", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/packages");
  const fields = { name: "adder", description: 'Adds "a" & <b>.', exports: "" };
  const wrong = "\nexport const add = ({ a, b }) =>\r\n  a + ;\r\n// <kept>";
  const refused = await v.send("/packages", { ...fields, path: "lib/add.ts", text: wrong });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /lib\/add\.ts: line 3, column 7/);
  assert.match(refused.text, /<pre class="place">\s*a \+ ;\n\s+\^<\/pre>/);
  const kept = /<textarea[^>]*name="text"[^>]*>\n([^<]*)<\/textarea>/.exec(refused.text)?.[1];
  assert.equal(
    kept,
    "\nexport const add = ({ a, b }) =&gt;\n  a + ;\n// &lt;kept&gt;",
    "also the first empty line",
  );
  assert.match(refused.text, /value="adder"/);
  assert.match(refused.text, /value="Adds &quot;a&quot; &amp; &lt;b&gt;\."/);
  assert.ok(
    refused.text.indexOf('value="lib/add.ts"') < refused.text.indexOf('id="wrong"'),
    "it stands at its module",
  );
  assert.equal((await v.get("/packages/adder")).status, 404, "nothing is stored");

  const right = "export const add = ({ a, b }: { a: number; b: number }) => a + b;";
  const one = await v.send("/packages", { ...fields, path: "i.ts", text: right, more: "1" });
  assert.equal(one.status, 200);
  assert.equal(one.text.match(/name="path"/g)?.length, 2, "one more module");
  assert.match(one.text, /a: number; b: number/);
  assert.equal((await v.get("/packages/adder")).status, 404, "and nothing is saved");
  const about = { ...fields, exports: '{"add": {"description": "Sums."}}' };
  const saved = await v.send("/packages", { ...about, path: "index.ts", text: right });
  assert.equal(saved.status, 303, saved.text);
  const page = await v.get("/packages/adder");
  assert.match(page.text, /version 1, current/);
  assert.match(page.text, /&quot;description&quot;: &quot;Sums\.&quot;/, "the next version has it");
  const bad = await v.send("/packages", { ...about, exports: "{", path: "index.ts", text: right });
  assert.equal(bad.status, 400);
  assert.match(bad.text, /exports: is no JSON/);
  const blind = await at((await p.token(["runs", "execute"])).token, "/tokens");
  assert.equal(
    (await blind.send("/packages", { ...about, path: "a.js", text: right })).status,
    403,
  );
});

test("a schedule is put, changed, paused, run now and deleted", async () => {
  const p = await principal(w);
  const v = await at(p.person, "/schedules");
  assert.match(v.page.text, /Nothing is scheduled/);
  const fields = {
    name: "morning",
    rule: "cron",
    when: "0 9 * * MON-FRI",
    zone: "Europe/Berlin",
    package: "",
    code: "// <b>\r\nreturn params.n + 1;",
    params: '{"z": 1, "n": 41, "apiKey": "hunter2"}',
    rest: '{"label": "Every <morning>"}',
    missed: "catch_up",
  };
  for (const [wrong, says] of /** @type {[Record<string, string>, RegExp][]} */ ([
    [{ when: "61 9 * * *" }, /cron: /],
    [{ zone: "Mars/Olympus" }, /Mars\/Olympus is no time zone/],
    [{ params: "{" }, /params: is no JSON/],
    [{ rest: '{"codes": 1}' }, /unknown field/],
    [{ package: "a/b" }, /must have one of code, package and workflow/],
    [{ code: "return (" }, /run\.code[^]*<pre class="place">return \(\n/],
  ])) {
    const refused = await v.send("/schedules", { ...fields, ...wrong });
    assert.equal(refused.status, 400, JSON.stringify(wrong));
    assert.match(refused.text, says);
    assert.match(refused.text, /value="catch_up" selected/);
    assert.match(refused.text, /Europe\/Berlin|Mars\/Olympus/);
    const typed = wrong.rest === undefined ? /Every &lt;morning&gt;/ : /&quot;codes&quot;: 1/;
    assert.match(refused.text, typed, "nothing typed is lost");
  }
  assert.match((await v.get("/schedules")).text, /Nothing is scheduled/);
  assert.equal((await v.send("/schedules", fields)).status, 303);
  const { body } = await w.json("/v1/schedules/morning", undefined, { token: p.agent });
  assert.deepEqual(
    [body.cron, body.zone, body.missed, body.state, body.run.label, body.run.params.n],
    ["0 9 * * MON-FRI", "Europe/Berlin", "catch_up", "active", "Every <morning>", 41],
  );
  assert.equal(body.run.code, "// <b>\nreturn params.n + 1;");
  const page = await v.get("/schedules/morning");
  assert.equal(
    page.text.split('aria-labelledby="next"')[1]?.split("</ul>")[0]?.match(/<time/g)?.length,
    5,
  );
  assert.match(
    page.text,
    /\{&quot;z&quot;: 1, &quot;n&quot;: 41/,
    "its form has it as it was sent",
  );
  assert.equal(page.text.match(/hunter2/g)?.length, 1, "and only there is the secret");

  assert.equal((await v.send("/schedules/morning/pause", {})).status, 303);
  assert.match((await v.get("/schedules")).text, /class="state wait">paused</);
  assert.equal((await v.send("/schedules/morning/resume", {})).status, 303);
  const run = await v.send("/schedules/morning/run", {});
  assert.equal(run.status, 303, run.text);
  assert.match((await v.get(run.headers.get("location") ?? "")).text, /Every &lt;morning&gt;/);
  const past = await v.get("/schedules/morning");
  assert.match(past.text, /asked for/);
  assert.match(past.text, /href="\/runs\/run_/);

  const changed = { ...fields, rule: "every", when: "1h 30m", zone: "", paused: "1" };
  assert.equal((await v.send("/schedules", changed)).status, 303);
  const paused = await v.get("/schedules/morning");
  assert.match(paused.text, /Every 1 h 30 min/);
  assert.match(paused.text, /value="5400s"/);
  assert.match(paused.text, /name="paused" value="1" checked/);

  const blind = await at((await p.token(["runs"])).token, "/tokens");
  assert.equal((await blind.get("/schedules/morning")).status, 200);
  assert.doesNotMatch((await blind.get("/schedules/morning")).text, /hunter2|name="when"/);
  for (const what of ["pause", "resume", "run", "delete"]) {
    assert.equal((await blind.send(`/schedules/morning/${what}`, {})).status, 403, what);
  }
  assert.equal((await blind.send("/schedules", fields)).status, 403);
  const other = await at((await principal(w)).person, "/tokens");
  assert.equal((await other.get("/schedules/morning")).status, 404);
  assert.equal((await other.send("/schedules/morning/delete", {})).status, 404);
  assert.equal((await v.send("/schedules/morning/delete", {})).status, 303);
  assert.equal((await v.get("/schedules/morning")).status, 404);
});

test("a service is started, looked at and stopped", async () => {
  const p = await principal(w);
  const text = `export async function watch({ folder }) {
    console.log("watching <b>", folder);
    while (!run.signal.aborted) await sleep(50);
    console.log("bye");
  }`;
  const saved = await w.json(
    "/v1/packages/inbox",
    { modules: { "index.js": text }, services: { watch: { graceMs: 2_000 } } },
    { method: "PUT", token: p.agent },
  );
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  const v = await at(p.person, "/services");
  assert.match(v.page.text, /No service was started/);
  assert.match((await v.get("/packages/inbox")).text, /href="\/services\/inbox\/watch"/);
  assert.match((await v.get("/services/inbox/watch")).text, /It was never started/);
  assert.equal((await v.get("/services/inbox/none")).status, 404);
  const fields = { service: "inbox/watch", params: '{"folder": "new"}', version: "" };
  for (const wrong of [{ params: "{" }, { service: "inbox/none" }, { version: "x" }]) {
    const refused = await v.send("/services", { ...fields, ...wrong });
    assert.ok([400, 404].includes(refused.status), JSON.stringify(wrong));
    assert.match(refused.text, /id="wrong"/);
    if (wrong.params === undefined) assert.match(refused.text, /folder&quot;: &quot;new/);
  }
  assert.equal((await v.send("/services", fields)).status, 303);
  const page = await until("it to log", async () => {
    const { text } = await v.get("/services/inbox/watch");
    return /watching &lt;b&gt; new/.test(text) ? text : undefined;
  });
  assert.match(page, /class="state busy">running</);
  assert.doesNotMatch(page, /name="params"/, "it is at work, and not started again");
  const blind = await at((await p.token(["runs"])).token, "/tokens");
  assert.equal((await blind.get("/services/inbox/watch")).status, 200);
  assert.equal((await blind.send("/services/inbox/watch/stop", {})).status, 403);
  assert.equal((await blind.send("/services", fields)).status, 403);
  assert.equal((await v.send("/services/inbox/watch/stop", {})).status, 303);
  await until("it to stop", async () => {
    const { text } = await v.get("/services/inbox/watch");
    return /class="state past">stopped</.test(text) && /bye/.test(text) ? true : undefined;
  });
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
  for (const place of ["/", "/docs", "/packages/a", "/live", "/runs/run_1"]) {
    assert.equal((await v.send(place, {})).status, 405, place);
  }
  for (const place of [
    "/runs/run_1/cancel",
    "/schedules/a/run",
    "/services/a/b/stop",
    "/tokens/a/revoke",
  ]) {
    assert.equal((await v.get(place)).status, 405, place);
  }
});
