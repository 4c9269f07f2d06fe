// A stand-in for Sentry's ingest: takes envelopes, shows them at /__mocks, answers as told.
//
// | route | |
// |---|---|
// | POST …/api/{project}/envelope/ | takes an envelope |
// | GET /__mocks | what came: a page, or JSON for whoever does not ask for HTML |
// | GET /__mocks.json | the same, always JSON |
// | PUT /__mocks | how to answer from here on: {status, headers, body, delayMs, times} |
// | DELETE /__mocks | forgets what came and how to answer |
//
// State is kept per token, which is the public key of the DSN: `?token=…` on the last four
// routes, `public` unless given. Events of one token are not seen under another.
/// <reference path="./platform.d.ts" />
import { DurableObject } from "cloudflare:workers";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { page } from "./page.js";

/** Bodies up to here are kept; of a larger one only its length and hash. A SQLite row holds 2 MB. */
const MAX_KEPT_BYTES = 1024 * 1024;

/** Requests kept per token. */
const MAX_REQUESTS = 200;

/**
 * @typedef {{ status: number, headers: Record<string, string>, body: string | null,
 *   delayMs: number, times: number }} Answer
 * @typedef {{ header: any, bytes: number, json?: any }} Item
 * @typedef {{ at: string, path: string, query: string, headers: Record<string, string>,
 *   bytes: number, sha256: string, status: number, header: any, items: Item[],
 *   problem: string | null }} Received
 */

/** What came and how to answer, of all tokens. */
export class State extends DurableObject {
  /**
   * @param {DurableObjectState} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(
      "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, token TEXT NOT NULL, record TEXT NOT NULL, body BLOB)",
    );
    this.sql.exec(
      "CREATE TABLE IF NOT EXISTS answers (token TEXT PRIMARY KEY, answer TEXT NOT NULL)",
    );
  }

  /**
   * Keeps a request and says how to answer it.
   * @param {string} token
   * @param {Omit<Received, "status">} received
   * @param {Uint8Array} body inflated
   * @returns {Answer}
   */
  take(token, received, body) {
    const answer = this.#answer(token);
    const record = JSON.stringify({ ...received, status: answer.status });
    const kept = body.byteLength > MAX_KEPT_BYTES ? null : body;
    this.sql.exec(
      "INSERT INTO requests (token, record, body) VALUES (?, ?, ?)",
      token,
      record,
      kept,
    );
    this.sql.exec(
      "DELETE FROM requests WHERE token = ? AND id NOT IN (SELECT id FROM requests WHERE token = ? ORDER BY id DESC LIMIT ?)",
      token,
      token,
      MAX_REQUESTS,
    );
    return answer;
  }

  /**
   * @param {string} token
   * @returns {Answer}
   */
  #answer(token) {
    const [row] = this.sql.exec("SELECT answer FROM answers WHERE token = ?", token).toArray();
    if (row === undefined) return { status: 200, headers: {}, body: null, delayMs: 0, times: 0 };
    const answer = JSON.parse(String(row.answer));
    if (answer.times > 0) {
      const left = { ...answer, times: answer.times - 1 };
      if (left.times === 0) this.sql.exec("DELETE FROM answers WHERE token = ?", token);
      else this.tell(token, left);
    }
    return answer;
  }

  /**
   * @param {string} token
   * @param {Partial<Answer>} answer
   */
  tell(token, answer) {
    const whole = { status: 200, headers: {}, body: null, delayMs: 0, times: 0, ...answer };
    this.sql.exec("INSERT OR REPLACE INTO answers VALUES (?, ?)", token, JSON.stringify(whole));
  }

  /** @param {string} token */
  read(token) {
    const rows = this.sql.exec(
      "SELECT record, body FROM requests WHERE token = ? ORDER BY id",
      token,
    );
    return rows.toArray().map(({ record, body }) => ({
      ...JSON.parse(String(record)),
      bodyBase64: body === null ? null : base64(new Uint8Array(/** @type {ArrayBuffer} */ (body))),
    }));
  }

  tokens() {
    return this.sql
      .exec("SELECT DISTINCT token FROM requests ORDER BY token")
      .toArray()
      .map(({ token }) => String(token));
  }

  /** @param {string} token */
  clear(token) {
    this.sql.exec("DELETE FROM requests WHERE token = ?", token);
    this.sql.exec("DELETE FROM answers WHERE token = ?", token);
  }
}

export default {
  /**
   * @param {Request} request
   * @param {{ STATE: any }} env
   * @returns {Promise<Response>}
   */
  async fetch(request, env) {
    const url = new URL(request.url);
    const state = env.STATE.get(env.STATE.idFromName("state"));
    if (url.pathname === "/") return Response.redirect(new URL("/__mocks", url).href, 302);
    if (url.pathname === "/__mocks" || url.pathname === "/__mocks.json") {
      return show(request, url, state);
    }
    if (/\/api\/[^/]+\/envelope\/?$/.test(url.pathname)) return ingest(request, url, state);
    return Response.json({ detail: "not found" }, { status: 404 });
  },
};

/**
 * @param {Request} request
 * @param {URL} url
 * @param {any} state
 * @returns {Promise<Response>}
 */
async function show(request, url, state) {
  const token = url.searchParams.get("token") ?? "public";
  switch (request.method) {
    case "GET": {
      const [requests, tokens] = [await state.read(token), await state.tokens()];
      const wantsPage =
        url.pathname === "/__mocks" && request.headers.get("accept")?.includes("text/html");
      return wantsPage
        ? new Response(page(token, tokens, requests), {
            headers: { "content-type": "text/html; charset=utf-8" },
          })
        : Response.json({ token, tokens, requests });
    }
    case "PUT":
      await state.tell(token, await request.json());
      return Response.json({ token });
    case "DELETE":
    case "POST": // The page's form knows no DELETE.
      await state.clear(token);
      return request.method === "POST"
        ? Response.redirect(new URL(`/__mocks?token=${encodeURIComponent(token)}`, url).href, 303)
        : Response.json({ token });
    default:
      return new Response(null, { status: 405, headers: { allow: "GET, PUT, POST, DELETE" } });
  }
}

/**
 * @param {Request} request
 * @param {URL} url
 * @param {any} state
 * @returns {Promise<Response>}
 */
async function ingest(request, url, state) {
  if (request.method !== "POST") {
    return new Response(null, { status: 405, headers: { allow: "POST" } });
  }
  const received = new Uint8Array(await request.arrayBuffer());
  let body = received;
  /** @type {string | null} */
  let problem = null;
  let envelope = { header: /** @type {any} */ (null), items: /** @type {Item[]} */ ([]) };
  try {
    body = inflate(received, request.headers.get("content-encoding"));
    envelope = parse(body);
  } catch (error) {
    problem = String(error);
  }
  const token = keyOf(request, url, envelope.header) ?? "public";
  const answer = await state.take(
    token,
    {
      at: new Date().toISOString(),
      path: url.pathname,
      query: url.search,
      headers: Object.fromEntries(request.headers),
      bytes: body.byteLength,
      sha256: hex(await crypto.subtle.digest("SHA-256", body)),
      ...envelope,
      problem,
    },
    body,
  );
  if (answer.delayMs > 0) await new Promise((done) => setTimeout(done, answer.delayMs));
  const event = envelope.items.find(({ header }) => header.type === "event");
  const id = envelope.header?.event_id ?? event?.json?.event_id;
  return new Response(answer.body ?? JSON.stringify(id === undefined ? {} : { id }), {
    status: answer.status,
    headers: { "content-type": "application/json", ...answer.headers },
  });
}

/**
 * The public key that a request names, which is the token of its state.
 * @param {Request} request
 * @param {URL} url
 * @param {any} header
 * @returns {string | undefined}
 */
function keyOf(request, url, header) {
  const auth = /sentry_key=([^,\s]+)/.exec(request.headers.get("x-sentry-auth") ?? "")?.[1];
  const dsn = /^\w+:\/\/([^:@/]+)/.exec(String(header?.dsn ?? ""))?.[1];
  return auth ?? url.searchParams.get("sentry_key") ?? dsn;
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} encoding
 * @returns {Uint8Array<ArrayBuffer>}
 */
function inflate(bytes, encoding) {
  switch (encoding) {
    case "gzip":
      return new Uint8Array(gunzipSync(bytes));
    case "deflate":
      return new Uint8Array(inflateSync(bytes));
    case "br":
      return new Uint8Array(brotliDecompressSync(bytes));
    default:
      return bytes;
  }
}

/**
 * Splits an envelope; throws where it is malformed.
 * @param {Uint8Array} bytes
 * @returns {{ header: any, items: Item[] }}
 */
function parse(bytes) {
  const decoder = new TextDecoder();
  let at = 0;
  const line = () => {
    const newline = bytes.indexOf(10, at);
    const end = newline === -1 ? bytes.byteLength : newline;
    const text = bytes.subarray(at, end);
    at = end + 1;
    return text;
  };
  const header = JSON.parse(decoder.decode(line()));
  const items = [];
  while (at < bytes.byteLength) {
    const itemHeader = JSON.parse(decoder.decode(line()));
    let payload;
    if (typeof itemHeader.length === "number") {
      if (at + itemHeader.length > bytes.byteLength) {
        throw new RangeError("length runs past the end");
      }
      payload = bytes.subarray(at, at + itemHeader.length);
      at += itemHeader.length + 1;
    } else {
      payload = line();
    }
    items.push({
      header: itemHeader,
      bytes: payload.byteLength,
      json: json(decoder.decode(payload)),
    });
  }
  return { header, items };
}

/**
 * The value of a JSON text, `undefined` if it is none or too large to be shown.
 * @param {string} text
 * @returns {any}
 */
function json(text) {
  if (text.length > MAX_KEPT_BYTES / 4) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.byteLength; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(text);
}

/** @param {ArrayBuffer} bytes */
function hex(bytes) {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
