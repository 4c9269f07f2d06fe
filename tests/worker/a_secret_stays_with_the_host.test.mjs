// Rule: a secret is put in by the host, at the last moment and only where it may go. No program, error, log,
// journal, result, answer or row shows one, whatever the service does with it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";
import { mcpStand, text } from "./mcp_stand.mjs";

const CANARY = 'canary-7c1f/"+%-3e9a';
const BASIC = "someone:canary-basic-55d0a1";
const SPELLINGS = [CANARY, BASIC].flatMap((secret) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64"),
]);
SPELLINGS.push("canary-basic-55d0a1", "canary-7c1f");

/** @type {Awaited<ReturnType<typeof mcpStand>>} */
let stand;
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {{url?: string, headers: import("node:http").IncomingHttpHeaders}[]} */
const heard = [];
const echo = createServer((request, response) => {
  heard.push({ url: request.url, headers: request.headers });
  if (request.url?.startsWith("/away")) {
    response.writeHead(302, { location: `${stand.origin}/stolen` }).end();
    return;
  }
  response.writeHead(200, {
    "x-echo": String(request.headers.authorization),
    "content-type": "text/plain",
  });
  response.end(JSON.stringify(request.headers) + request.url);
});
let origin = "";
/** @type {string[]} everything that was answered to anybody */
const answers = [];

before(async () => {
  stand = await mcpStand({
    sse: true,
    tools: [
      {
        name: "echo",
        call: (_args, { headers, note }) => {
          const said = String(headers.authorization);
          note({ method: "notifications/progress", params: { progress: 1, message: said } });
          return text(`it was ${said} ${Buffer.from(said.slice(7)).toString("base64")}`);
        },
      },
      {
        name: "fails",
        call: (_args, { headers }) => ({ ...text(String(headers.authorization)), isError: true }),
      },
      {
        name: "structured",
        call: (_args, { headers }) => ({ content: [], structuredContent: { headers } }),
      },
    ],
  });
  await new Promise((resolve) => echo.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (echo.address());
  origin = `http://127.0.0.1:${port}`;
  w = await start({
    vars: {
      HOLDFAST_SOURCE_HOSTS: `public, ${stand.origin}, ${origin}`,
      HOLDFAST_HTTP_HOSTS: `${stand.origin}, ${origin}`,
    },
    outbound: "network",
  });
});
after(async () => {
  await w?.stop();
  await stand?.stop();
  echo.close();
});

/** @param {string} place @param {unknown} [body] @param {RequestInit} [init] */
async function ask(place, body, init) {
  const answer = await w.json(place, body, init);
  answers.push(JSON.stringify(answer.body), JSON.stringify([...answer.headers]));
  return answer;
}

/** @param {string} code */
async function run(code) {
  const { body } = await ask("/v1/runs", { code });
  return body;
}

const secret = (/** @type {string} */ name, /** @type {object} */ body) =>
  ask(`/v1/secrets/${name}`, body, { method: "PUT" });

test("a secret is put, listed by its name and never read back", async () => {
  const granted = { sources: ["stand"], hosts: [stand.origin] };
  const { status, body } = await secret("token", { value: CANARY, ...granted });
  assert.equal(status, 200, JSON.stringify(body));
  const web = { sources: ["http"], hosts: [origin], query: ["key"] };
  assert.equal((await secret("web", { value: CANARY, ...web })).status, 200);
  assert.equal((await secret("basic", { value: BASIC, ...granted })).status, 200);
  const listed = await ask("/v1/secrets");
  assert.deepEqual(
    listed.body.secrets.map((/** @type {any} */ entry) => entry.name),
    ["basic", "token", "web"],
  );
  assert.equal((await ask("/v1/secrets/token")).status, 405);
});

test("bad grants, values and names are refused", async () => {
  const good = { value: CANARY, sources: ["*"], hosts: ["api.example.com"] };
  for (const [name, body] of /** @type {[string, object][]} */ ([
    ["a", { ...good, value: "short" }],
    ["a", { ...good, value: "with\nline break" }],
    ["a", { ...good, hosts: [] }],
    ["a", { ...good, hosts: ["*"] }],
    ["a", { ...good, sources: [] }],
    ["A.b", good],
  ])) {
    assert.equal((await secret(name, body)).status, 400, JSON.stringify(body));
  }
});

test("the service gets it, and nobody else sees it", async () => {
  stand.authorization = `Bearer ${CANARY}`;
  const settings = { kind: "mcp", url: stand.url, auth: [{ secret: "token" }] };
  const { body } = await ask("/v1/sources/stand", settings, { method: "PUT" });
  assert.equal(body.state, "ready", JSON.stringify(body));
  const echoed = await run(`
    const { text } = await tools.stand.echo();
    console.log(text, await tools.stand.structured());
    await tools.storage.set({ key: "kept", value: text });
    emit(text);
    return text;`);
  assert.equal(echoed.status, "completed", echoed.error);
  assert.match(echoed.result, /it was Bearer \[secret\]/);
  const failed = await run(`return tools.stand.fails()`);
  assert.equal(failed.status, "failed");
  const thrown = await run(`
    try { await tools.stand.fails() } catch (error) { return [error.message, error.stack, JSON.stringify(error)] }`);
  assert.match(thrown.result[0], /\[secret\]/);
});

test("a service that wants another one is told as such", async () => {
  stand.authorization = "Bearer another";
  const { body } = await ask("/v1/sources/stand/test", {});
  assert.match(body.error.message, /refuses the credentials/);
  const failed = await run(`return tools.stand.echo()`);
  assert.equal(failed.status, "failed");
  stand.authorization = undefined;
});

test("basic credentials are the host's, too", async () => {
  const settings = { kind: "mcp", url: stand.url, auth: [{ secret: "basic", in: "basic" }] };
  const { body } = await ask("/v1/sources/stand", settings, { method: "PUT" });
  assert.equal(body.state, "ready", JSON.stringify(body));
  const sent = stand.heard.at(-1)?.headers.authorization;
  assert.equal(sent, `Basic ${Buffer.from(BASIC).toString("base64")}`);
  const echoed = await run(`return [await tools.stand.echo(), await tools.stand.structured()]`);
  assert.equal(echoed.status, "completed", echoed.error);
});

test("http.fetch shows it where it was granted, and nowhere else", async () => {
  const reference = `{ secret: "web", before: "Bearer " }`;
  const got = await run(`
    const answer = await tools.http.fetch({
      url: "${origin}/a", headers: { authorization: ${reference} },
    });
    return [answer.body, answer.headers["x-echo"]];`);
  assert.equal(got.status, "completed", got.error);
  assert.equal(heard.at(-1)?.headers.authorization, `Bearer ${CANARY}`);
  assert.match(got.result[1], /\[secret\]/);
  for (const [url, header, name] of [
    [`${stand.origin}/a`, "authorization", "web"],
    [`${origin}/a`, "x-key", "web"],
    [`${origin}/a`, "authorization", "token"],
    [`${origin}/a`, "authorization", "nobody"],
  ]) {
    const before = heard.length + stand.heard.length;
    const refused = await run(`
      try {
        await tools.http.fetch({ url: "${url}", headers: { "${header}": { secret: "${name}" } } });
      } catch (error) { return error.code; }`);
    assert.match(refused.result, /HF_E1(406|607)/, `${url} ${header} ${name}`);
    assert.equal(heard.length + stand.heard.length, before);
  }
});

test("a redirect to another origin goes without it", async () => {
  const before = stand.heard.length;
  const got = await run(`
    const answer = await tools.http.fetch({
      url: "${origin}/away", headers: { authorization: { secret: "web" } },
    });
    return answer.status;`);
  assert.equal(got.status, "completed", got.error);
  assert.equal(stand.heard.length, before + 1);
  assert.equal(stand.heard.at(-1)?.headers.authorization, undefined);
});

test("nothing that anybody was answered, and no table, shows a secret", async () => {
  for (const { id } of (await w.json("/v1/runs?limit=100")).body.runs) {
    answers.push(JSON.stringify((await w.json(`/v1/runs/${id}`)).body));
  }
  answers.push(...w.logs);
  const tables = await w.d1(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  );
  assert.ok(tables.length > 15, "the tables were not found");
  for (const { name } of tables) {
    answers.push(JSON.stringify(await w.d1(`SELECT * FROM "${name}"`)));
  }
  for (const spelling of SPELLINGS) {
    const shown = answers.filter((text) => text.includes(spelling));
    assert.deepEqual(
      shown.map((text) => text.slice(0, 300)),
      [],
      spelling,
    );
  }
  assert.ok(
    answers.some((text) => text.includes("[secret]")),
    "no service gave one back",
  );
});

test("what was sealed under an older key opens, and is sealed anew", async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-secrets-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const keys = ["01", "02"].map((byte) => byte.repeat(32));
  const id = (/** @type {string} */ key) =>
    createHash("sha256").update(Buffer.from(key, "hex")).digest("hex").slice(0, 16);
  const [older = "", newer = ""] = keys;
  /** @param {string} key @param {(w: Awaited<ReturnType<typeof start>>) => Promise<void>} look */
  const under = async (key, look) => {
    const vars = { HOLDFAST_SECRETS_KEY: key, HOLDFAST_HTTP_HOSTS: origin };
    const w = await start({ state, vars, outbound: "network" });
    try {
      await look(w);
    } finally {
      await w.stop();
    }
  };
  const shows = `return (await tools.http.fetch({
    url: "${origin}/b", headers: { authorization: { secret: "web" } } })).status;`;
  const key_id = async (/** @type {Awaited<ReturnType<typeof start>>} */ w) =>
    (await w.d1("SELECT key_id FROM secrets"))[0].key_id;
  await under(older, async (w) => {
    const body = { value: CANARY, sources: ["http"], hosts: [origin] };
    assert.equal((await w.json("/v1/secrets/web", body, { method: "PUT" })).status, 200);
    assert.equal(await key_id(w), id(older));
  });
  await under(newer, async (w) => {
    const run = await w.execute(shows);
    assert.match(run.error, /HOLDFAST_SECRETS_KEY/);
  });
  await under(`${newer}, ${older}`, async (w) => {
    assert.equal((await w.execute(shows)).result, 200);
    await w.scheduled();
    assert.equal(await key_id(w), id(newer));
  });
  await under(newer, async (w) => {
    assert.equal((await w.execute(shows)).result, 200);
    assert.equal(heard.at(-1)?.headers.authorization, CANARY);
  });
});
