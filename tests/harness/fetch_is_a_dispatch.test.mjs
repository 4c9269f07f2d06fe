// Rule: `fetch` asks the host through `http.fetch` and nobody else, and answers a real Response.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asProgram } from "./support/prepare.mjs";
import { start } from "./support/workerd.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let workerd;
before(async () => {
  workerd = await start();
});
after(() => workerd.stop());

const ANSWER = {
  status: 201,
  headers: { "content-type": "application/json", "x-a": "1" },
  body: '{"n":1}',
};

/** @param {string} body @param {any} [answer] */
async function run(body, answer = ANSWER) {
  const tools = answer === null ? {} : { "http.fetch": { returns: answer } };
  const { end, calls, error } = await workerd.post("/run", { program: asProgram(body), tools });
  assert.equal(error, undefined);
  return { end, value: end.value, args: calls.map((/** @type {any} */ { args }) => args) };
}

test("what is asked for goes to the host, normalised by the platform", async () => {
  const { value, args } = await run(`
    const r = await fetch("https://example.com/a?b=1", { method: "post", headers: { "X-Key": "k" }, body: JSON.stringify({ q: 1 }) });
    return [r instanceof Response, r.status, r.ok, r.headers.get("x-a"), r.url, (await r.json()).n];`);
  assert.deepEqual(value, [true, 201, true, "1", "https://example.com/a?b=1", 1]);
  assert.deepEqual(args, [
    {
      url: "https://example.com/a?b=1",
      method: "POST",
      headers: { "content-type": "text/plain;charset=UTF-8", "x-key": "k" },
      body: '{"q":1}',
    },
  ]);
});

test("bodies are text, bytes or search parameters; others are refused with the way out", async () => {
  const { value, args } = await run(`
    await fetch("https://a.example/", { method: "PUT", body: new Uint8Array([1, 2]).buffer });
    await fetch("https://a.example/", { method: "POST", body: new URLSearchParams({ a: "b c" }) });
    await fetch(new Request("https://a.example/", { method: "POST", body: "from a request" }));
    const refused = [];
    for (const body of [new FormData(), new ReadableStream(), new Blob(["x"])]) {
      await fetch("https://a.example/", { method: "POST", body }).catch((e) => refused.push(e.message));
    }
    return refused;`);
  assert.deepEqual(
    args.map((/** @type {any} */ { body }) => body),
    [
      { $: "bytes", v: "AQI=" },
      "a=b+c",
      { $: "bytes", v: Buffer.from("from a request").toString("base64") },
    ],
  );
  assert.match(args[1].headers["content-type"], /^application\/x-www-form-urlencoded/);
  assert.equal(value.length, 3);
  for (const said of value) assert.match(said, /fetch cannot send .* as its body; send /);
});

test("bytes of the host are the body's bytes, and a status without a body has none", async () => {
  const bytes = await run(
    "return [...new Uint8Array(await (await fetch('https://a.example/')).arrayBuffer())];",
    {
      status: 200,
      headers: {},
      body: { $: "bytes", v: "AP8=" },
    },
  );
  assert.deepEqual(bytes.value, [0, 255]);
  const empty = await run(
    "const r = await fetch('https://a.example/'); return [r.status, await r.text()];",
    { status: 204, body: "" },
  );
  assert.deepEqual(empty.value, [204, ""]);
});

test("a request that is aborted rejects with its reason", async () => {
  const { value } = await run(`
    const c = new AbortController();
    const p = fetch("https://a.example/", { signal: c.signal });
    c.abort(new Error("enough"));
    const late = AbortSignal.abort(new Error("at once"));
    return [await p.catch((e) => e.message), await fetch("https://a.example/", { signal: late }).catch((e) => e.message)];`);
  assert.deepEqual(value, ["enough", "at once"]);
});

test("without a host that allows it nothing is reached", async () => {
  const { value } = await run(
    "return await fetch('https://example.com/').catch((e) => e.message);",
    null,
  );
  assert.match(value, /http\.fetch/);
  const wrong = await run("return await fetch('not a url').catch((e) => e.name);");
  assert.deepEqual([wrong.value, wrong.args], ["TypeError", []]);
});

test("a fetch that nobody looks at is a call that nobody looks at", async () => {
  const { end } = await run("fetch('https://a.example/'); return 1;");
  assert.deepEqual([end.end, end.path], ["unlooked", "http.fetch"]);
});
