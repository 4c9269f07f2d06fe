// Rule: `fetch` in a program goes where `http.fetch` may go, carries what was asked for, and gives
// a Response that reads like any other.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({
    vars: { HOLDFAST_HTTP_HOSTS: "allowed.example" },
    outbound: async (request) => {
      if (request.url.endsWith("/slow")) await sleep(2_000);
      const body = await request.text();
      const heard = { method: request.method, body, note: request.headers.get("x-note") };
      return Response.json(heard, { status: 201, headers: { "x-answer": "heard" } });
    },
  });
});
after(() => w.stop());

/** @param {string} code */
const value = async (code) => {
  const run = await w.execute(code);
  assert.equal(run.status, "completed", run.error);
  return run.result;
};

test("method, headers and body go out; status, headers and body come back", async () => {
  const got = await value(`
    const answer = await fetch("https://allowed.example/a", {
      method: "POST", headers: { "x-note": "n" }, body: "text",
    });
    return [answer.status, answer.ok, answer.url, answer.headers.get("x-answer"), await answer.json()];`);
  assert.deepEqual(got, [
    ...[201, true, "https://allowed.example/a", "heard"],
    { method: "POST", body: "text", note: "n" },
  ]);
});

test("a Request, bytes, search parameters and a URL will do", async () => {
  const got = await value(`
    const asked = [
      new Request("https://allowed.example/b", { method: "PUT", body: "in a request" }),
      [new URL("https://allowed.example/c"), { method: "POST", body: new TextEncoder().encode("bytes") }],
      ["https://allowed.example/d", { method: "POST", body: new URLSearchParams({ q: "1" }) }],
      "https://allowed.example/e",
    ];
    const bodies = [];
    for (const one of asked) {
      const answer = await (Array.isArray(one) ? fetch(...one) : fetch(one));
      const { method, body } = JSON.parse(await answer.text());
      bodies.push(method + " " + body);
    }
    return bodies;`);
  assert.deepEqual(got, ["PUT in a request", "POST bytes", "POST q=1", "GET "]);
});

test("a host that is not allowed is refused, and the program can catch it", async () => {
  const before = w.sent.length;
  const [name, message, code] = await value(`
    try {
      await fetch("https://elsewhere.example/");
    } catch (error) {
      return [error.name, error.message, error.code];
    }`);
  assert.equal(name, "ToolError");
  assert.match(message, /elsewhere\.example/);
  assert.match(code, /^HF_E\d{4}$/);
  assert.equal(w.sent.length, before);
});

test("a signal that is aborted already lets nothing out", async () => {
  const before = w.sent.length;
  const got = await value(`
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    try {
      await fetch("https://allowed.example/f", { signal: controller.signal });
    } catch (error) {
      return error.message;
    }`);
  assert.equal(got, "enough");
  assert.equal(w.sent.length, before);
});

test("a signal of the program's own ends its wait, and the call is looked at all the same", async () => {
  const run = await w.execute(`
    const asked = fetch("https://allowed.example/slow", { signal: AbortSignal.timeout(20) });
    try {
      await asked;
    } catch (error) {
      return error.name;
    }`);
  assert.equal(run.result, "TimeoutError", run.error);
  assert.match(run.warnings.join(), /http\.fetch/);
  const caught = await w.execute(`
    const { signal } = new AbortController();
    await fetch("https://elsewhere.example/", { signal }).catch(() => {});
    return "caught";`);
  assert.equal(caught.result, "caught", caught.error);
});
