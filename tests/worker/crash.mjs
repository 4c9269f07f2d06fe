// A process that is killed while a run is at work, and another on what it left: what tests of crashes
// share.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import os from "node:os";
import path from "node:path";
import { sleep, start, startProcess } from "./harness.mjs";

const HEADERS = { "content-type": "application/json" };

/**
 * Sends `program` under a key, kills the process when `ready` says so, and starts again on what is
 * left, with every lease expired.
 *
 * @param {import("node:test").TestContext} t
 * @param {(origin: string) => Record<string, unknown>} program
 * @param {(first: Awaited<ReturnType<typeof startProcess>>, hits: string[]) => Promise<void>} ready
 * @param {Record<string, string>} [key] the header with the key
 * @param {(first: Awaited<ReturnType<typeof startProcess>>, origin: string) => Promise<void>} [prepare]
 *   what is there before it
 */
export async function crash(
  t,
  program,
  ready,
  key = { "idempotency-key": "crash" },
  prepare = async () => {},
) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  /** @type {string[]} */
  const hits = [];
  const server = createServer((request, response) => {
    hits.push(request.url ?? "");
    if (request.url !== "/slow") response.end("done");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
    fs.rmSync(state, { recursive: true, force: true });
  });
  const vars = { HOLDFAST_HTTP_HOSTS: origin };
  const body = program(origin);
  const first = await startProcess({ state, vars });
  await prepare(first, origin);
  const init = { headers: { ...HEADERS, ...key } };
  const lost = first.json("/v1/runs", body, init).catch(() => "lost");
  await ready(first, hits);
  await first.kill();
  await lost;
  const second = await start({ state, vars, outbound: "network" });
  t.after(() => second.stop());
  await second.d1("UPDATE runs SET lease_until = 1 WHERE status = 'running'");
  return { second, hits, repeat: () => second.json("/v1/runs", body, init) };
}

/** Waits until the program has asked for it. */
export const hit = async (/** @type {string[]} */ hits, /** @type {string} */ url) => {
  for (let i = 0; i < 100 && !hits.includes(url); i++) await sleep(100);
  assert.ok(hits.includes(url), `${url} was never asked for`);
};
