// Rule: whatever keeps `npm start` from starting is named, with the way out of it, before any
// work is done.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { childEnv, run } from "../../scripts/lib/command.mjs";

const TIMEOUT_MS = 30_000;

const start = (/** @type {string[]} */ args, /** @type {NodeJS.ProcessEnv} */ env = {}) =>
  run(process.execPath, ["scripts/start.mjs", ...args], {
    env: childEnv(env),
    timeoutMs: TIMEOUT_MS,
  });

test("a taken port is named, and another one offered", async (t) => {
  const other = net.createServer();
  const port = await new Promise((resolve) => {
    other.listen(0, "127.0.0.1", () => resolve(/** @type {any} */ (other.address()).port));
  });
  t.after(() => other.close());
  const { ok, text } = await start(["--port", String(port)]);
  assert.equal(ok, false);
  assert.match(text, new RegExp(`^Port ${port} is taken`, "m"));
  assert.match(text, /npm start -- --port \d+/);
});

for (const [name, args, expected] of /** @type {const} */ ([
  ["a word", ["--port", "http"], /--port takes a number from 0 to 65535, not http/],
  ["nothing", ["--port", ""], /--port takes a number from 0 to 65535/],
  ["one too many", ["--port", "65536"], /--port takes a number from 0 to 65535, not 65536/],
  ["a negative number", ["--port=-1"], /--port takes a number from 0 to 65535, not -1/],
  ["a port without its option", ["8788"], /8788.*\n.*usage: npm start -- \[--port N\]/s],
  ["an unknown option", ["--prot", "1"], /--prot.*\n.*usage: npm start -- \[--port N\]/s],
])) {
  test(`a wrong option is refused with the usage: ${name}`, async () => {
    const { ok, text } = await start([...args]);
    assert.equal(ok, false);
    assert.match(text, expected);
    assert.doesNotMatch(text, /^\s+at /m, "no stack");
  });
}

for (const [name, token] of /** @type {const} */ ([
  ["too short by one", "a".repeat(15)],
  ["a space in it", "sixteen characters and more"],
])) {
  test(`a token that would not serve is refused: ${name}`, async () => {
    const { ok, text } = await start(["--port", "0"], { HOLDFAST_ADMIN_TOKEN: token });
    assert.equal(ok, false);
    assert.match(text, /^HOLDFAST_ADMIN_TOKEN of the environment does not serve/m);
  });
}

test("a machine without Rust and without a compiler is told where to get them", async (t) => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  const { ok, text } = await run(process.execPath, ["scripts/setup.mjs"], {
    env: { HOME: home, CARGO_HOME: path.join(home, ".cargo"), PATH: path.join(home, "bin") },
    timeoutMs: TIMEOUT_MS,
  });
  assert.equal(ok, false);
  assert.match(text, /rustup.*https:\/\/sh\.rustup\.rs/s);
  assert.match(text, /a C compiler.*apt-get install build-essential/s);
});
