// Rule: `npm start` answers on loopback with the token that it prints, and whatever ends it, a
// signal or the death of its starter, ends all that it started.
import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { until } from "../worker/harness.mjs";
import { start } from "./started.mjs";

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
