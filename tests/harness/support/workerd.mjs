// Starts raw workerd with the stand-in host and gives it the harness's files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import workerd from "workerd";

const HARNESS = new URL("../../../src/sandbox/harness/", import.meta.url);

/** The harness's modules by name. */
export const harnessModules = () =>
  Object.fromEntries(
    readdirSync(HARNESS)
      .filter((name) => name.endsWith(".js"))
      .map((name) => [name, readFileSync(new URL(name, HARNESS), "utf8")]),
  );

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

/** A running workerd; `stop` ends it, also when it hangs. */
export async function start() {
  const port = await freePort();
  const binary = workerd.default ?? workerd;
  const config = new URL("config.capnp", import.meta.url).pathname;
  const args = ["serve", "--experimental", config, "--socket-addr", `http=127.0.0.1:${port}`];
  const server = spawn(binary, args, { stdio: ["ignore", "inherit", "inherit"] });
  const exited = once(server, "exit");
  const post = async (/** @type {any} */ path, /** @type {any} */ body, ms = 30_000) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ms),
    });
    return response.json();
  };
  const stop = async () => {
    server.kill("SIGKILL");
    await exited;
  };
  for (let tries = 0; ; tries++) {
    try {
      await post("/harness", harnessModules(), 2_000);
      break;
    } catch (error) {
      assert.equal(server.exitCode, null, "workerd ended");
      if (tries === 50) {
        await stop();
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return { post, stop, pid: server.pid };
}
