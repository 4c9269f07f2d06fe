// Holdfast and its peers in one workerd, each behind an address of its own, and how each is asked.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { V8_FLAGS } from "../../scripts/lib/workerd.mjs";
import { ADMIN_TOKEN, start } from "../../tests/worker/harness.mjs";
import { principal } from "../../tests/worker/people.mjs";
import { children, spentMs } from "./workerd.mjs";

const REQUEST_MS = 60_000;

/** All callers of a case, and some. */
const PERMITS = "64";

/** Connections stay open, as a client's do. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

/**
 * @typedef {object} Answer
 * @property {number} ms from the request to the last byte of its answer
 * @property {any} result
 * @property {number} [d1Ms]
 *
 * @typedef {(one: import("../cases.mjs").Case) => Promise<Answer>} Ask
 * @typedef {"holdfast" | "holdfast without its guard" | "codemode" | "floor" | "storing"} Name
 */

/**
 * Sends a request, without what `fetch` does besides.
 *
 * @param {string} url
 * @param {string | undefined} body
 * @param {Record<string, string>} headers
 * @param {string} [method]
 * @returns {Promise<{ms: number, status: number, headers: http.IncomingHttpHeaders, text: string}>}
 */
function send(url, body, headers, method = "POST") {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const length = body === undefined ? 0 : Buffer.byteLength(body);
    const request = http.request(
      url,
      { agent, method, headers: { ...headers, "content-length": length }, timeout: REQUEST_MS },
      (answer) => {
        /** @type {Buffer[]} */
        const parts = [];
        answer.on("data", (part) => parts.push(part));
        answer.once("error", reject);
        answer.once("end", () =>
          resolve({
            ms: performance.now() - from,
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(parts).toString("utf8"),
          }),
        );
      },
    );
    request.once("timeout", () => request.destroy(new Error(`${url}: no answer`)));
    request.once("error", reject);
    request.end(body);
  });
}

/**
 * Starts them.
 *
 * @param {{ instrumented?: boolean, bare?: boolean }} [options] `instrumented`: with the clock at D1;
 *   `bare`: V8 without the flags of scripts/lib/workerd.mjs, as workerd comes
 */
export async function startContenders({ instrumented = true, bare = false } = {}) {
  Object.assign(process.env, bare ? { MINIFLARE_WORKERD_V8_FLAGS: "" } : V8_FLAGS);
  const before = new Set(children());
  const worker = await start({
    ...(instrumented ? { main: "bench/workers/holdfast.js" } : {}),
    copies: 2,
    copyVars: [{}, { HOLDFAST_GUARD: "off" }],
    vars: {
      HOLDFAST_TOOLS_SERVICE: "TOOLS",
      HOLDFAST_PERMITS: PERMITS,
      HOLDFAST_PERMITS_PRINCIPAL: PERMITS,
    },
    neighbours: [
      { name: "tools", main: "bench/workers/tools.js", binding: "TOOLS" },
      {
        ...{ name: "peers", main: "bench/workers/peers.js", loader: true, database: true },
        services: { TOOLS: "tools" },
        flags: ["nodejs_compat"],
      },
    ],
  });
  const saved = await worker.json(
    "/v1/packages/bench",
    { modules: { "index.js": "export const one = () => 1;" } },
    { method: "PUT" },
  );
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  const people = await principal(worker);
  const peers = worker.neighbours.peers ?? "";
  const [, unguarded] = worker.copies;
  let keys = 0;

  /** @type {Record<Name, (one: import("../cases.mjs").Case) => Ask | undefined>} */
  const asks = {
    holdfast: ({ kind = "run" }) => (kind === "parks" ? parks : (one) => ask(worker.url, one)),
    "holdfast without its guard": ({ compute }) =>
      compute ? (one) => ask(unguarded?.url ?? "", one) : undefined,
    codemode: ({ kind = "run", keyed }) =>
      keyed
        ? undefined
        : { run: codemode, mcp: codemodeMcp, warm: undefined, parks: undefined }[kind],
    floor: ({ kind = "run" }) => (kind === "run" || kind === "warm" ? floor : undefined),
    storing: ({ kind = "run" }) => (kind === "run" || kind === "warm" ? storing : undefined),
  };

  /**
   * @param {string} url
   * @param {import("../cases.mjs").Case} one
   * @returns {Promise<Answer>}
   */
  async function ask(url, { body, kind = "run", keyed = false }) {
    const code = `const call = tools.echo, look = emit;\n${body}`;
    const headers = {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      "content-type": "application/json",
      ...(keyed ? { "idempotency-key": `bench-${(keys += 1)}` } : {}),
    };
    const sent =
      kind === "warm"
        ? send(`${url}/v1/packages/bench/one`, "{}", headers)
        : kind === "mcp"
          ? send(`${url}/mcp`, call("execute", { code }), { ...headers, accept: ACCEPT })
          : send(`${url}/v1/runs`, JSON.stringify({ code }), headers);
    const { ms, status, text, headers: answered } = await sent;
    assert.equal(status, 200, text);
    const d1Ms = Number(answered["x-d1-ms"] ?? Number.NaN);
    if (kind === "mcp") return { ms, d1Ms, result: toolText(text) };
    const run = JSON.parse(text);
    assert.equal(run.outcome, "completed", text.slice(0, 500));
    return { ms, d1Ms, result: run.result };
  }

  /** @returns {Promise<Answer>} */
  async function parks() {
    const from = performance.now();
    const run = await people.run(
      'await storage.set({ key: "gated", value: 1 }); return "resumed";',
    );
    assert.equal(run.status, "waiting_approval", JSON.stringify(run));
    const decided = await people.decide(run.approvals[0].id, "allow");
    assert.equal(decided.status, 200, JSON.stringify(decided.body));
    const ended = await people.resume(run.id);
    return { ms: performance.now() - from, result: ended.result };
  }

  /** @type {Ask} */
  async function codemode({ body }) {
    const program = `async () => { const { echo: call, look } = codemode;\n${body}\n}`;
    return read(await send(`${peers}/codemode`, program, {}));
  }

  /** @type {Ask} */
  async function codemodeMcp({ body }) {
    const code = `async () => { const { echo: call, look } = codemode;\n${body}\n}`;
    const headers = { "content-type": "application/json", accept: ACCEPT };
    const { ms, status, text } = await send(
      `${peers}/codemode-mcp`,
      call("code", { code }),
      headers,
    );
    assert.equal(status, 200, text);
    return { ms, result: toolText(text) };
  }

  /** @type {Ask} */
  async function floor({ body, kind }) {
    const program = `async (call, look) => {\n${body}\n}`;
    return read(await send(`${peers}/${kind === "warm" ? "warm" : "floor"}`, program, {}));
  }

  /** @type {Ask} */
  async function storing({ body, kind }) {
    const program = `async (call, look) => {\n${body}\n}`;
    return read(await send(`${peers}/${kind === "warm" ? "warm-stores" : "stores"}`, program, {}));
  }

  const pid = children().findLast((one) => !before.has(one) && nameOf(one) === "workerd") ?? "";
  return { asks, spentMs: () => spentMs(pid), stop: () => worker.stop() };
}

const ACCEPT = "application/json, text/event-stream";

/** @param {string} pid */
const nameOf = (pid) => fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim();

/** @param {string} name @param {object} given */
const call = (name, given) =>
  JSON.stringify({
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name, arguments: given },
  });

/**
 * The text of a tool's result, from JSON or from a stream of one event.
 *
 * @param {string} text
 */
function toolText(text) {
  const json = text.startsWith("{") ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? "");
  const { result } = JSON.parse(json);
  assert.ok(result !== undefined && !result.isError, text.slice(0, 500));
  return result.content[0].text;
}

/**
 * @param {Awaited<ReturnType<typeof send>>} answer
 * @returns {Answer}
 */
function read({ ms, status, text }) {
  assert.equal(status, 200, text.slice(0, 500));
  const { result, error } = JSON.parse(text);
  assert.equal(error, undefined);
  return { ms, result };
}
