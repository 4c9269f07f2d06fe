// Rule: `npm start` answers on loopback with the token that it prints, and whatever ends it, a
// signal or the death of its starter, ends all that it started.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { childEnv } from "../../scripts/lib/command.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";
import { until } from "../worker/harness.mjs";

const START_MS = 60_000;

/** @param {import("node:test").TestContext} t @param {NodeJS.ProcessEnv} [env] */
async function start(t, env = {}) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const child = spawn(
    process.execPath,
    ["scripts/start.mjs", "--port", "0", "--state", path.join(state, "d1")],
    { cwd: ROOT, env: childEnv(env), stdio: ["ignore", "pipe", "pipe"] },
  );
  t.after(() => child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  }
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.on("exit", resolve));
  void ended.then(() => (text += "\n[ended]"));
  await until(
    "npm start",
    async () => {
      assert.doesNotMatch(text, /\[ended\]/);
      return /^Configuration of an MCP client$/m.test(text);
    },
    START_MS,
  );
  const [, url = ""] = /^Holdfast answers on (http:\/\/127\.0\.0\.1:\d+) /m.exec(text) ?? [];
  return { child, ended, url, said: () => text };
}

/** @param {string} url */
async function isPortFree(url) {
  const probe = net.connect(Number(new URL(url).port), "127.0.0.1");
  return new Promise((resolve) => {
    probe.on("error", () => resolve(true));
    probe.on("connect", () => {
      probe.destroy();
      resolve(false);
    });
  });
}

test("SIGTERM ends it in good order, and the port is free again", async (t) => {
  const { child, ended, url } = await start(t);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  await until("the port to be free", () => isPortFree(url));
});

test("SIGKILL of the script ends wrangler and workerd too", async (t) => {
  const { child, ended, url } = await start(t);
  child.kill("SIGKILL");
  await ended;
  await until("the port to be free", () => isPortFree(url));
});

test("the token of the environment wins and stands in all that is printed", async (t) => {
  const { child, ended, said } = await start(t, { HOLDFAST_ADMIN_TOKEN: "of-the-environment" });
  assert.match(said(), /^Admin token\n {2}of-the-environment$/m);
  assert.equal(said().match(/Bearer of-the-environment/g)?.length, 2);
  child.kill("SIGINT");
  assert.equal(await ended, 0);
});
