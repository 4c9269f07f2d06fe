// Rule: an official client that is pointed at the tunnel just works. Each sends an error, a bare
// timeout as an exception and as a message, and an error whose cause is the timeout; the first
// and the last arrive, the bare ones do not, and the client takes all for delivered.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { build } from "esbuild";
import { run } from "../../scripts/lib/command.mjs";
import { chromium } from "../../scripts/lib/needs.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";
import { until } from "../worker/harness.mjs";
import { DSN, TIMEOUT, start, startModule } from "../worker/sentry_stand.mjs";
import {
  commandLine,
  javascriptClients,
  peer,
  pythonClient,
  pythonClientWithBrotli,
} from "./sentry_peers.mjs";

const CLIENT_MS = 60_000;
const SEND = path.join(ROOT, "tests", "clients", "sentry_send");

const javascript = await javascriptClients();
const python = await pythonClient();
const pythonBrotli = await pythonClientWithBrotli();
const cli = await commandLine();
const browser = await chromium();

/** @type {import("../worker/sentry_stand.mjs").Stand} */
let stand;
before(async () => {
  stand = await start();
});
after(() => stand.stop());
beforeEach(() => stand.mock.clear());

const tunnel = () => new URL("/sentry-tunnel", stand.url).href;

/** A DSN whose path is the tunnel's, for clients that know no tunnels. */
const pathDsn = () => `http://public@${new URL(stand.url).host}/sentry-tunnel/1`;

/**
 * What each event that arrived says, oldest exception first.
 */
async function arrived() {
  const { clients } = await stand.received();
  return clients
    .flatMap(({ items }) => items.filter(({ header }) => header.type === "event"))
    .map(({ json }) => {
      const values = json.exception?.values ?? [];
      const said = values.map((/** @type {any} */ { value }) => value);
      return said.length > 0 ? said : [json.logentry?.message ?? json.message];
    });
}

/**
 * Waits for `wanted` events and the report of `dropped` others, and sees that no more came.
 *
 * @param {string[][]} wanted
 * @param {number} dropped
 */
async function expect(wanted, dropped) {
  await until("the report of what was dropped", async () => {
    const { discarded } = await stand.received();
    return discarded["event_processor/error"] === dropped;
  });
  const sorted = (/** @type {string[][]} */ list) => list.map((said) => said.join(" < ")).sort();
  await until("what should arrive", async () => (await arrived()).length >= wanted.length);
  assert.deepEqual(sorted(await arrived()), sorted(wanted));
}

const BOTH = [["D1 write failed"], [TIMEOUT, "the sweep failed"]];

test("@sentry/node with tunnel", { skip: javascript.missing }, async () => {
  const script = path.join(SEND, "node.mjs");
  const args = [script, javascript.path ?? "", DSN, tunnel(), TIMEOUT];
  const sent = await run(process.execPath, args, { timeoutMs: CLIENT_MS });
  assert.ok(sent.ok, sent.text);
  await expect([...BOTH, ["large"]], 2);
});

test("@sentry/browser in Chromium", { skip: javascript.missing ?? browser.missing }, async () => {
  const bundle = await bundled("browser.mjs", "iife", []);
  const { default: playwright } = await peer(javascript.path ?? "", "playwright-core");
  const launched = await playwright.chromium.launch({
    executablePath: onPath(browser.path ?? ""),
    args: ["--no-sandbox"],
  });
  try {
    const page = await launched.newPage();
    const place = new URL("/a-page", stand.url).href;
    await page.route(place, (/** @type {any} */ route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>a page</title>" }),
    );
    await page.goto(place);
    await page.addScriptTag({ content: bundle });
    const flushed = await page.evaluate(
      (/** @type {string[]} */ [dsn, timeout]) =>
        /** @type {any} */ (globalThis).send(dsn, timeout),
      [DSN, TIMEOUT],
    );
    assert.equal(flushed, true);
    await expect(BOTH, 2);
  } finally {
    await launched.close();
  }
});

test("@sentry/cloudflare in workerd", { skip: javascript.missing }, async () => {
  const bundle = await bundled("cloudflare.mjs", "esm", ["node:*", "cloudflare:*"]);
  const globals = Object.entries({ DSN, TUNNEL: tunnel(), TIMEOUT }).map(
    ([name, value]) => `globalThis.${name} = ${JSON.stringify(value)};\n`,
  );
  const worker = await startModule(globals.join("") + bundle);
  try {
    const answer = await fetch(worker.url, { signal: AbortSignal.timeout(CLIENT_MS) });
    assert.equal(await answer.text(), "true");
    await expect(BOTH, 2);
  } finally {
    await worker.stop();
  }
});

for (const [name, client] of /** @type {const} */ ([
  ["sentry-sdk for Python", python],
  ["sentry-sdk for Python with brotli", pythonBrotli],
])) {
  test(name, { skip: client.missing }, async () => {
    const args = [path.join(SEND, "python.py"), pathDsn(), TIMEOUT];
    const sent = await run(client.path ?? "", args, { timeoutMs: CLIENT_MS });
    assert.ok(sent.ok, sent.text);
    await expect(BOTH, 2);
  });
}

test("sentry-cli", { skip: cli.missing }, async () => {
  const command = path.join(path.dirname(cli.path ?? ""), "sentry-cli");
  for (const text of ["D1 write failed", TIMEOUT]) {
    const sent = await run(command, ["send-event", "-m", text, "--no-environ"], {
      env: { ...process.env, SENTRY_DSN: pathDsn() },
      timeoutMs: CLIENT_MS,
    });
    assert.ok(sent.ok, sent.text);
  }
  await expect([["D1 write failed"]], 1);
});

/**
 * The file of a command; playwright looks for none by itself.
 *
 * @param {string} command
 */
function onPath(command) {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const files = folders.map((folder) => path.resolve(folder, command));
  return files.find((file) => fs.existsSync(file)) ?? command;
}

/**
 * @param {string} entry
 * @param {"iife" | "esm"} format
 * @param {string[]} external
 */
async function bundled(entry, format, external) {
  const made = await build({
    bundle: true,
    conditions: format === "esm" ? ["workerd", "worker", "import", "default"] : ["browser"],
    entryPoints: [path.join(SEND, entry)],
    external,
    format,
    logLevel: "silent",
    nodePaths: [path.join(javascript.path ?? "", "node_modules")],
    target: "es2022",
    write: false,
  });
  return made.outputFiles[0]?.text ?? "";
}
