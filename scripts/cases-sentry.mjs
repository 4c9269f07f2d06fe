// Runs a folder of Sentry cases: `npm run cases:sentry -- FOLDER`.
//
// Every *.json of the folder is a list of cases. A case with `event` and `noise` is judged by the
// pure filter, natively, and sent through the tunnel: it must arrive exactly when it is no noise.
// A case with `request` and `expect` is posted to the tunnel of a worker in workerd, with the
// mock of Sentry behind it. Closes with `N passed, N failed`; the exit status says the same.
//
// What the keys of `expect` mean: tests/cases/sentry/README.md.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gunzipSync, inflateSync, brotliDecompressSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { sleep, until } from "../tests/worker/harness.mjs";
import { DSN, discarded, start } from "../tests/worker/sentry_stand.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** How long a report is waited for that should not come. */
const SILENCE_MS = 40;

/** How long one is waited for that should. */
const REPORT_MS = 5_000;

/** Headers of a client that must never reach the server, in lower case. */
const PRIVATE = [
  "cookie",
  "authorization",
  "referer",
  "x-forwarded-for",
  "x-sentry-forwarded-for",
  "content-encoding",
];

/** @typedef {Awaited<ReturnType<typeof start>>} Stand */

/** What was expected is not what happened. */
class Failed extends Error {}

/**
 * @param {boolean} holds
 * @param {string} what
 */
function check(holds, what) {
  if (!holds) throw new Failed(what);
}

/** @param {unknown} a @param {unknown} b @param {string} what */
function same(a, b, what) {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  check(left === right, `${what}: ${left}, expected ${right}`);
}

/** @param {string} folder */
function read(folder) {
  const files = statSync(folder).isDirectory()
    ? readdirSync(folder)
        .filter((name) => name.endsWith(".json"))
        .sort()
        .map((name) => join(folder, name))
    : [folder];
  /** @type {{ events: any[], envelopes: any[], unreadable: string[] }} */
  const cases = { events: [], envelopes: [], unreadable: [] };
  for (const file of files) {
    /** @type {unknown} */
    let list;
    try {
      list = JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      cases.unreadable.push(`${file}: ${error}`);
      continue;
    }
    for (const one of Array.isArray(list) ? list : [list]) {
      if (typeof one?.noise === "boolean" && "event" in one) {
        cases.events.push(one);
      } else if (one?.request && one?.expect) {
        cases.envelopes.push(one);
      } else {
        cases.unreadable.push(
          `${file}: ${one?.name ?? "?"} is neither an event nor an envelope case`,
        );
      }
    }
  }
  return cases;
}

/**
 * The pure filter's verdicts.
 * @param {any[]} cases
 * @returns {boolean[]}
 */
function judge(cases) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-cases-"));
  try {
    const file = join(folder, "events.json");
    writeFileSync(file, JSON.stringify(cases.map(({ event }) => ({ event }))));
    const output = execFileSync(
      "cargo",
      ["run", "--quiet", "--example", "sentry_events", "--", file],
      {
        cwd: ROOT,
        encoding: "utf8",
        maxBuffer: 1 << 26,
      },
    );
    return output
      .trim()
      .split("\n")
      .map((line) => line === "true");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Posts bytes with these headers and no others, but those that HTTP needs.
 * @param {URL} url
 * @param {Record<string, string>} headers
 * @param {Buffer} body
 * @returns {Promise<{ status: number, headers: any, text: string }>}
 */
function post(url, headers, body) {
  return new Promise((answered, failed) => {
    const request = httpRequest(
      url,
      { method: "POST", headers: { ...headers, "content-length": body.length } },
      (response) => {
        /** @type {Buffer[]} */
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () => {
          const { statusCode: status = 0 } = response;
          answered({
            status,
            headers: response.headers,
            text: Buffer.concat(parts).toString("utf8"),
          });
        });
        response.on("error", failed);
      },
    );
    request.setTimeout(10_000, () => request.destroy(new Error("no answer in 10 s")));
    request.on("error", failed);
    request.end(body);
  });
}

/** @param {any} one @returns {Buffer} */
const bodyOf = (one) => Buffer.from(one.bodyBase64 ?? "", "base64");

/**
 * What clients sent to the mock, once the report that is expected is there.
 *
 * @param {Stand} stand
 * @param {any} expected the case's `clientReport`
 */
async function received(stand, expected) {
  const wanted = JSON.stringify(expected === undefined ? {} : discarded([expected]));
  const isThere = async () => JSON.stringify((await stand.received()).discarded) === wanted;
  // A report that does not come is told below, by what came.
  if (expected !== undefined) await until("a report", isThere, REPORT_MS).catch(() => {});
  await sleep(SILENCE_MS);
  const got = await stand.received();
  check(
    JSON.stringify(got.discarded) === wanted,
    `client report: ${JSON.stringify(got.discarded)}, expected ${wanted}`,
  );
  return got.clients;
}

/**
 * Undoes a content-encoding.
 * @param {Buffer} body
 * @param {string | undefined} encoding
 */
function inflate(body, encoding) {
  switch (encoding) {
    case "gzip":
      return gunzipSync(body);
    case "deflate":
      return inflateSync(body);
    case "br":
      return brotliDecompressSync(body);
    default:
      return body;
  }
}

/**
 * The ranges of an envelope's parts: header line, then each item with its header and payload.
 * @param {Buffer} bytes
 */
function split(bytes) {
  let at = 0;
  const line = () => {
    const newline = bytes.indexOf(10, at);
    const part = bytes.subarray(at, newline === -1 ? bytes.length : newline);
    at = newline === -1 ? bytes.length : newline + 1;
    return part;
  };
  const header = line();
  const items = [];
  while (at < bytes.length) {
    const itemHeader = line();
    const { type, length } = JSON.parse(itemHeader.toString("utf8"));
    let payload;
    if (length === undefined) {
      payload = line();
    } else {
      payload = bytes.subarray(at, at + length);
      at += length + 1;
    }
    items.push({ type, header: itemHeader, payload });
  }
  return { header, items };
}

/** @param {any} one @param {Stand} stand */
async function runEnvelope(one, stand) {
  await stand.mock.clear();
  const sent = Buffer.from(one.request.bodyBase64, "base64");
  const path = one.request.path ?? "/sentry-tunnel";
  const answer = await post(new URL(path, stand.url), one.request.headers, sent);
  const clients = await received(stand, one.expect.clientReport);
  same(answer.status, one.expect.status, "status");
  if (one.expect.id !== undefined) same(answer.text, JSON.stringify({ id: one.expect.id }), "body");
  const { forwarded } = one.expect;
  if (forwarded === undefined) return;
  if (forwarded === "none") {
    same(clients.length, 0, "envelopes forwarded");
    return;
  }
  same(clients.length, 1, "envelopes forwarded");
  const [got] = clients;
  checkRequest(got);
  const [before, after] = [inflate(sent, one.request.headers["content-encoding"]), bodyOf(got)];
  if (forwarded === "identical") {
    check(before.equals(after), "the bytes differ");
    return;
  }
  const [was, is] = [split(before), split(after)];
  same(
    is.items.map(({ type }) => type),
    forwarded.itemTypes,
    "items",
  );
  check(was.header.equals(is.header), "the envelope header differs");
  let from = 0;
  for (const { type, header, payload } of is.items) {
    const place = was.items.findIndex(
      (item, index) => index >= from && item.header.equals(header) && item.payload.equals(payload),
    );
    check(place !== -1, `the ${type} is not as it was sent`);
    from = place + 1;
  }
}

/** @param {any} got what holds for every forwarded request */
function checkRequest(got) {
  same(got.path, "/api/1/envelope/", "path");
  same(got.query, "", "query");
  same(got.headers["content-type"], "application/x-sentry-envelope", "content-type");
  const auth = got.headers["x-sentry-auth"] ?? "";
  check(
    /sentry_key=public(,|$)/.test(auth) && auth.includes("sentry_client=holdfast/"),
    `x-sentry-auth: ${auth}`,
  );
  for (const name of PRIVATE) check(!(name in got.headers), `${name} was passed on`);
}

/** @param {any} one @param {boolean | undefined} noise @param {Stand} stand */
async function runEvent(one, noise, stand) {
  same(noise, one.noise, "the filter's verdict");
  await stand.mock.clear();
  const payload = JSON.stringify(one.event);
  const header = JSON.stringify({ dsn: DSN });
  const item = JSON.stringify({ type: "event", length: Buffer.byteLength(payload) });
  const body = Buffer.from(`${header}\n${item}\n${payload}\n`);
  const answer = await post(new URL("/sentry-tunnel", stand.url), {}, body);
  same(answer.status, 200, "status");
  const report = {
    discarded_events: [{ reason: "event_processor", category: "error", quantity: 1 }],
  };
  const clients = await received(stand, one.noise ? report : undefined);
  same(clients.length, one.noise ? 0 : 1, "envelopes forwarded");
  if (!one.noise) check(bodyOf(clients[0]).equals(body), "the bytes differ");
}

async function main() {
  const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  if (folder === undefined || !existsSync(folder)) {
    console.error("usage: npm run cases:sentry -- FOLDER");
    return 2;
  }
  const { events, envelopes, unreadable } = read(resolve(folder));
  let [passed, failed] = [0, 0];
  for (const what of unreadable) {
    failed += 1;
    console.log(`FAIL ${what}`);
  }
  await build({ fast: true });
  const verdicts = events.length === 0 ? [] : judge(events);
  const stand = await start();
  try {
    /** @type {[any, () => Promise<void>][]} */
    const all = [
      ...events.map(
        (one, i) => /** @type {[any, any]} */ ([one, () => runEvent(one, verdicts[i], stand)]),
      ),
      ...envelopes.map((one) => /** @type {[any, any]} */ ([one, () => runEnvelope(one, stand)])),
    ];
    for (const [one, run] of all) {
      try {
        await run();
        passed += 1;
      } catch (error) {
        failed += 1;
        console.log(`FAIL ${one.name}: ${error instanceof Failed ? error.message : error}`);
      }
    }
  } finally {
    await stand.stop();
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
