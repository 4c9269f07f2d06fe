// Rule: a worker that `npm start` runs keeps the code that V8 made of its Wasm. By itself V8 throws it away
// with each new isolate and never frees it, a megabyte for each run, until the process has no room left.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { start } from "./started.mjs";

const TOKEN = "of-the-test-that-looks-at-memory";

/** @param {string} url @param {number} count */
async function run(url, count) {
  for (let done = 0; done < count; done += 1) {
    const answer = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ code: `return ${done};` }),
    });
    assert.equal((await answer.json()).result, done);
  }
}

/** @param {number} pid @returns {number[]} what it started, and what that did */
function descendants(pid) {
  const told = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return told
    .split(" ")
    .filter(Boolean)
    .flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

/** @param {number} pid @returns {number} bytes that can be written and executed: compiled code */
function codeBytes(pid) {
  let counts = false;
  let kilobytes = 0;
  for (const line of fs.readFileSync(`/proc/${pid}/smaps`, "utf8").split("\n")) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) counts = / rwxp /.test(line);
    if (counts) kilobytes += Number(/^Rss: +(\d+) kB/.exec(line)?.[1] ?? 0);
  }
  return kilobytes * 1_024;
}

// Elsewhere nothing tells what a process has in memory.
if (process.platform === "linux") {
  test("compiled code does not grow with the runs", async (t) => {
    const { child, url } = await start(t, { HOLDFAST_ADMIN_TOKEN: TOKEN });
    const code = () => descendants(child.pid ?? 0).reduce((sum, pid) => sum + codeBytes(pid), 0);
    await run(url, 10);
    const few = code();
    await run(url, 40);
    const many = code();
    assert.ok(few > 0, "no compiled code was found");
    assert.ok(many < 2 * few, `${few} bytes after 10 runs, ${many} after 50`);
    child.kill("SIGTERM");
  });
}
