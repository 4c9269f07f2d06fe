// Rule: what we send is what real servers take. Relay's normaliser finds nothing to correct in
// our own events, and a Sentry-compatible server stores what arrives through the tunnel and
// nothing of a bare timeout.
//
// Bugsink is run as it is, as a test tool, on loopback and with its reports home switched off.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { run, serve } from "../../scripts/lib/command.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";
import { start as startWorker, until } from "../worker/harness.mjs";
import { TIMEOUT, envelope, start } from "../worker/sentry_stand.mjs";
import { bugsink, javascriptClients, normaliser } from "./sentry_peers.mjs";

const STEP_MS = 120_000;

const relay = await normaliser();
const server = await bugsink();
const javascript = await javascriptClients();

test("Relay's normaliser finds nothing to correct", { skip: relay.missing }, async () => {
  const stand = await start({ vars: { SENTRY_ENVIRONMENT: "preview", COMMIT_SHA: "0123abc" } });
  try {
    const reports = [
      { code: "HF_E1701", kind: "storage_error", message: "The database could not be read." },
      {
        code: "HF_E1099",
        kind: "internal_error",
        message: "m".repeat(50_000),
        causes: Array.from({ length: 20 }, (_, n) => ({ name: `Error${n}`, message: `${n}` })),
        surface: "workflow",
        phase: "execute",
        runtime: "dynamic_worker",
        run: "run_5f",
        correlation: "c0ffee",
        line: 1,
      },
      { code: "x".repeat(5000), kind: "", message: "", surface: "two\nlines", phase: " " },
    ];
    for (const report of reports) {
      await stand.post("/sentry-probe/report", { body: JSON.stringify(report) });
    }
    await stand.post("/sentry-probe/panic");
    const events = await until("all events", async () => {
      const { events: all } = await stand.received();
      return all.length === 4 && all.map(({ json }) => json);
    });
    const normalised = await piped(
      relay.path ?? "",
      [path.join(ROOT, "tests", "clients", "sentry_send", "normalise.py")],
      events.map((event) => JSON.stringify(event)).join("\n"),
    );
    const lines = normalised
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal(lines.length, 4);
    for (const [place, event] of lines.entries()) {
      assert.equal(event.errors, undefined, JSON.stringify(event.errors));
      assert.equal(event._meta, undefined, JSON.stringify(event._meta));
      assert.equal(event.event_id, events[place].event_id);
      assert.equal(event.level, events[place].level);
    }
  } finally {
    await stand.stop();
  }
});

test("Bugsink stores the error and nothing of the timeout", { skip: server.missing }, async (t) => {
  const sink = await startBugsink(path.dirname(server.path ?? ""));
  t.after(() => sink.stop());
  const worker = await startWorker({
    vars: { SENTRY_DSN: sink.dsn, SENTRY_PROBE: "true" },
    outbound: "network",
  });
  t.after(() => worker.stop());

  const id = "9680658abdf7413ef2a746458761c60d";
  const header = { event_id: id, dsn: sink.dsn };
  const sent = {
    event_id: id,
    timestamp: Date.now() / 1000,
    platform: "javascript",
    level: "error",
  };
  const chain = {
    values: [
      { type: "Error", value: TIMEOUT },
      { type: "Error", value: "sweep failed" },
    ],
  };
  for (const event of [
    { ...sent, exception: chain },
    { ...sent, exception: { values: [{ type: "Error", value: TIMEOUT }] } },
  ]) {
    const body = envelope(event, { header });
    const answer = await worker.fetch("/sentry-tunnel", { method: "POST", token: null, body });
    assert.equal(answer.status, 200, await answer.text());
  }
  const probe = JSON.stringify({ code: "HF_E1701", kind: "storage_error", message: "no table" });
  await worker.fetch("/sentry-probe/report", { method: "POST", token: null, body: probe });
  const expected = 2 + (await sendWithNode(sink.dsn, worker.url));
  const stored = await until(
    "the events",
    async () => {
      const rows = await sink.events();
      return rows.length >= expected && rows;
    },
    30_000,
  );
  assert.equal(stored.length, expected, JSON.stringify(stored));
  assert.ok(stored.some(({ value }) => value === "sweep failed"));
  assert.ok(stored.some(({ type, value }) => type === "storage_error" && value === "no table"));
  assert.ok(!stored.some(({ value }) => value === TIMEOUT));
});

/**
 * Sends three errors and two timeouts with @sentry/node.
 *
 * @param {string} dsn
 * @param {string} url
 * @returns {Promise<number>} how many should arrive
 */
async function sendWithNode(dsn, url) {
  if (javascript.path === undefined) return 0;
  const script = path.join(ROOT, "tests", "clients", "sentry_send", "node.mjs");
  const tunnel = new URL("/sentry-tunnel", url).href;
  const args = [script, javascript.path, dsn, tunnel, TIMEOUT];
  const sent = await run(process.execPath, args, { timeoutMs: STEP_MS });
  assert.ok(sent.ok, sent.text);
  return 3;
}

/**
 * Starts a Bugsink with one project and an empty database.
 *
 * @param {string} bin folder of its commands
 */
async function startBugsink(bin) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bugsink-"));
  const port = await freePort();
  const env = {
    ...process.env,
    PATH: `${bin}${path.delimiter}${process.env.PATH}`,
    PYTHONPATH: folder,
  };
  /** @param {string} command @param {string[]} args */
  const step = async (command, args) => {
    const done = await run(path.join(bin, command), args, { cwd: folder, env, timeoutMs: STEP_MS });
    assert.ok(done.ok, `${command} ${args.join(" ")}: ${done.text}`);
    return done.text;
  };
  await step("bugsink-create-conf", ["--template=local", "--host=127.0.0.1", `--port=${port}`]);
  const conf = path.join(folder, "bugsink_conf.py");
  const quiet = 'BUGSINK = {\n    "PHONEHOME": False,';
  fs.writeFileSync(conf, fs.readFileSync(conf, "utf8").replace(/^BUGSINK = \{/m, quiet));
  assert.match(fs.readFileSync(conf, "utf8"), /"PHONEHOME": False/);
  await step("bugsink-manage", ["migrate"]);
  await step("bugsink-manage", ["migrate", "snappea", "--database=snappea"]);
  const python =
    "from projects.models import Project; p,_=Project.objects.get_or_create(name='edge'); print('DSN', p.dsn)";
  const said = await step("bugsink-manage", ["shell", "-c", python]);
  const dsn = /DSN (\S+)/.exec(said)?.[1];
  assert.ok(dsn !== undefined, said);
  const args = ["--bind", `127.0.0.1:${port}`, "--workers", "1", "--threads", "4", "bugsink.wsgi"];
  const gunicorn = serve(path.join(bin, "gunicorn"), args, { cwd: folder, env });
  await until(
    "Bugsink to answer",
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      return answer?.ok;
    },
    STEP_MS,
  );
  return {
    dsn,
    /** @returns {Promise<{ type: string, value: string }[]>} */
    async events() {
      const query =
        "from events.models import Event; import json; " +
        "print('EVENTS', json.dumps([{'type': e.calculated_type, 'value': e.calculated_value} for e in Event.objects.all()]))";
      const listed = await step("bugsink-manage", ["shell", "-c", query]);
      return JSON.parse(/EVENTS (.*)/.exec(listed)?.[1] ?? "[]");
    },
    async stop() {
      await gunicorn.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((free) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => free(port));
    });
  });
}

/**
 * Runs a program with `input` and gives what it prints.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {string} input
 * @returns {Promise<string>}
 */
function piped(file, args, input) {
  return new Promise((done, failed) => {
    const child = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"], timeout: STEP_MS });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
    child.on("error", failed);
    child.on("close", (code) =>
      code === 0 ? done(text) : failed(new Error(`${file} ended with ${code}`)),
    );
    child.stdin.end(input);
  });
}
