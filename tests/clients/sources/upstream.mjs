// Servers that nobody here wrote, each in a process of its own on a port of loopback.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { childEnv, serve } from "../../../scripts/lib/command.mjs";
import { sleep } from "../../worker/harness.mjs";

const STARTS_MS = 30_000;

/** A file of this folder. */
export const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));

/** A file of a package. */
export const moduleOf = (/** @type {string} */ name) => fileURLToPath(import.meta.resolve(name));

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(() => resolve(undefined)));
  return port;
}

/**
 * Starts a server and waits until it answers, whatever it answers.
 *
 * @param {(port: number) => {file: string, args: string[], env?: Record<string, string>}} command
 * @param {string} path where it is asked
 */
export async function upstream(command, path) {
  const port = await freePort();
  const { file, args, env } = command(port);
  const server = serve(file, args, { env: childEnv(env) });
  let said = "";
  for (const stream of [server.child.stdout, server.child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-20_000)));
  }
  const origin = `http://127.0.0.1:${port}`;
  const until = Date.now() + STARTS_MS;
  const answers = async () => {
    const answer = await fetch(origin + path, { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
  };
  for (;;) {
    const up = await answers().then(
      () => true,
      () => false,
    );
    if (up) break;
    if (Date.now() > until) await server.kill();
    assert.ok(Date.now() <= until, `it does not start: ${said}`);
    await sleep(100);
  }
  return {
    origin,
    /** What it wrote last. */
    said: () => said,
    stop: () => server.kill(),
  };
}

/**
 * A call that takes longer than its limit ends there; one whose caller leaves ends with its run.
 *
 * @param {Awaited<ReturnType<typeof import("../../worker/harness.mjs").start>>} w
 * @param {string} call
 */
export async function endsSlowCalls(w, call) {
  const code = `try { await ${call} } catch (error) { return error.code }`;
  const run = await w.execute({ code, limits: { dispatchMs: 2_000 } });
  assert.equal(run.result, "HF_E1603", JSON.stringify(run));
  const left = new AbortController();
  const asked = w.execute(`return ${call}`, { signal: left.signal }).catch(() => undefined);
  await sleep(1_500);
  left.abort();
  await asked;
  const status = async () => (await w.json("/v1/runs?limit=1")).body.runs[0].status;
  for (let waited = 0; (await status()) === "running" && waited < 8_000; waited += 200) {
    await sleep(200);
  }
  assert.equal(await status(), "cancelled");
}
