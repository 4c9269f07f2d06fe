// Rule: where an approval's link leads, a person learns how to decide; nothing of the call is shown there and
// nothing is decided.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start();
});
after(() => w.stop());

test("the link names the requests that look and decide", async () => {
  const answer = await w.fetch("/approvals/apr_0123", { token: null });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
  assert.ok(text.includes(`POST ${w.url}/v1/approvals/apr_0123`), text);
  assert.match(text, /scope approve/);
});

test("it neither decides nor repeats what is no id", async () => {
  assert.equal((await w.json("/approvals/apr_0123", {})).status, 405);
  const odd = await w.json("/approvals/%3Cscript%3E");
  assert.equal(odd.status, 404);
  assert.ok(!JSON.stringify(odd.body).includes("script"));
});
