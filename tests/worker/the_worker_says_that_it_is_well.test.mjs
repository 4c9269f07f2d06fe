// Rule: /health answers anyone, whichever copy is asked; and what these tests stand on holds: a
// real socket, one database under all copies, a process that can be killed and started again.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { start, startProcess } from "./harness.mjs";

test("health is answered without a token", async (t) => {
  const w = await start();
  t.after(() => w.stop());
  const { status, body } = await w.json("/health", undefined, { token: null });
  assert.equal(status, 200);
  assert.equal(body.ok, true);
});

test("two copies of the worker answer, each at its own address", async (t) => {
  const w = await start({ copies: 2 });
  t.after(() => w.stop());
  const answers = await Promise.all(w.copies.map((copy) => copy.json("/health")));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  assert.notEqual(w.copies[0]?.url, w.copies[1]?.url);
});

test("the database answers with rows and keeps them between two starts", async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const first = await start({ state });
  await first.d1("CREATE TABLE notes_of_this_test (text TEXT) STRICT");
  await first.d1("INSERT INTO notes_of_this_test VALUES (?)", "kept");
  await first.stop();
  const second = await start({ state });
  t.after(() => second.stop());
  assert.deepEqual(await second.d1("SELECT text FROM notes_of_this_test"), [{ text: "kept" }]);
});

test("a killed process is gone with its workerd, and starts again at the same address", async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
  t.after(() => fs.rmSync(state, { recursive: true, force: true }));
  const first = await startProcess({ state });
  assert.equal((await first.json("/health")).status, 200);
  await first.kill();
  await assert.rejects(first.fetch("/health"));
  const second = await startProcess({ state, port: Number(new URL(first.url).port) });
  t.after(() => second.stop());
  assert.equal(second.url, first.url);
  assert.equal((await second.json("/health")).status, 200);
});
