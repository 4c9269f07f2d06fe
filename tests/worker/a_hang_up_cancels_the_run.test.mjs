// Rule: a caller that hangs up ends its run: its tool calls are aborted, the row says `cancelled`,
// never a timeout, and no row stays `running`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {import("node:http").Server} */
let server;
/** @type {string[]} */
const happened = [];
let origin = "";

before(async () => {
  server = createServer((request, response) => {
    happened.push(`open ${request.url}`);
    response.on("close", () => happened.push(`closed ${request.url}`));
    const timer = setTimeout(() => response.end("late"), 15_000);
    response.on("close", () => clearTimeout(timer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  w = await start({ vars: { HOLDFAST_HTTP_HOSTS: origin }, outbound: "network" });
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await w.stop();
});

/** Waits until `look` gives something, at most ten seconds. */
async function until(/** @type {() => any} */ look) {
  for (let i = 0; i < 100; i++) {
    const found = await look();
    if (found) return found;
    await sleep(100);
  }
  return undefined;
}

const rowOf = async (/** @type {string} */ label) =>
  (await w.d1("SELECT * FROM runs WHERE label = ?", label))[0];

test("a hang-up while a tool call waits aborts the call and cancels the run", async () => {
  const leave = new AbortController();
  const request = w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      code: `console.log("began"); return await tools.http.fetch({ url: "${origin}/tool" })`,
      label: "leaves",
    }),
    signal: leave.signal,
  });
  const answer = await request; // streamed after a second
  assert.equal(answer.status, 200);
  assert.ok(await until(() => happened.includes("open /tool")));
  leave.abort();
  await answer.text().catch(() => {});
  const row = await until(async () => {
    const found = await rowOf("leaves");
    return found?.status === "running" ? undefined : found;
  });
  assert.equal(row?.status, "cancelled", JSON.stringify(row ?? (await rowOf("leaves"))));
  assert.equal(row.error_kind, "cancelled");
  assert.ok(await until(() => happened.includes("closed /tool")), happened.join());
  const [dispatch] = await w.d1("SELECT * FROM dispatches WHERE run_id = ?", row.id);
  assert.equal(dispatch.state, "stopped");
  const { body } = await w.json(`/v1/runs/${row.id}`);
  assert.equal(body.status, "cancelled");
  assert.equal(body.errorDetails.isTimeout, false);
  assert.deepEqual(
    body.logs.map((/** @type {any} */ line) => line.text),
    ["began"],
  );
});

test("a hang-up in the program's own time cancels the run", async () => {
  const leave = new AbortController();
  const answer = await w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "await sleep(20000)", label: "leaves early" }),
    signal: leave.signal,
  });
  leave.abort();
  await answer.text().catch(() => {});
  const row = await until(async () => {
    const found = await rowOf("leaves early");
    return found?.status === "running" ? undefined : found;
  });
  assert.equal(row?.status, "cancelled");
});

test("a hang-up before the first beat is noticed by it", async () => {
  const leave = new AbortController();
  const request = w.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "await sleep(20000)", label: "leaves at once" }),
    signal: leave.signal,
  });
  await until(() => rowOf("leaves at once"));
  leave.abort();
  await request.catch(() => {});
  const row = await until(async () => {
    const found = await rowOf("leaves at once");
    return found?.status === "running" ? undefined : found;
  });
  assert.equal(row?.status, "cancelled");
});

test("cancel ends a run from another request", async () => {
  const running = w.json("/v1/runs", { code: "await sleep(20000)", label: "asked to end" });
  const row = await until(() => rowOf("asked to end"));
  const { body } = await w.json(`/v1/runs/${row.id}/cancel`, {});
  assert.equal(body.status, "cancelled");
  const answered = await running;
  assert.deepEqual(answered.body, body, "both callers get the same answer");
  const again = await w.json(`/v1/runs/${row.id}/cancel`, {});
  assert.deepEqual(again.body, body, "a second cancel changes nothing");
});

test("no row stays running", async () => {
  assert.deepEqual(await w.d1("SELECT id, label FROM runs WHERE status = 'running'"), []);
});
