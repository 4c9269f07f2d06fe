var __defProp = Object.defineProperty;
var __name = (target, value) => __defProp(target, "name", { value, configurable: true });

// worker.js
import { DurableObject } from "cloudflare:workers";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";

// page.js
function escape(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
__name(escape, "escape");
function page(token, tokens, requests) {
  const links = tokens.map(
    (other) => `<a href="/__mocks?token=${encodeURIComponent(other)}">${escape(other)}</a>`
  );
  const rows = [...requests].reverse().map(row).join("");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sentry mock: ${escape(token)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark; }
  article { border: 1px solid #8886; border-radius: 6px; margin: 1rem 0; padding: .5rem 1rem; }
  h2 { font-size: 1rem; margin: .25rem 0; }
  pre { max-height: 20rem; overflow: auto; white-space: pre-wrap; word-break: break-word; }
  .muted { opacity: .7; }
</style>
<h1>What came for <code>${escape(token)}</code></h1>
<p class="muted">Tokens: ${links.join(" \xB7 ") || "none yet"} \xB7
  <a href="/__mocks.json?token=${encodeURIComponent(token)}">JSON</a></p>
<form method="post" action="/__mocks?token=${encodeURIComponent(token)}"><button>Clear</button></form>
${rows || "<p>Nothing yet.</p>"}
</html>`;
}
__name(page, "page");
function row(request) {
  const items = request.items.map(
    /** @param {any} item */
    ({
      header,
      bytes,
      json: json2
    }) => `<h2>${escape(header.type)} <span class="muted">${bytes} bytes</span></h2>
    <p>${escape(title(json2))}</p>
    <details><summary>payload</summary><pre>${escape(JSON.stringify(json2 ?? header, null, 2))}</pre></details>`
  );
  return `<article>
  <p class="muted">${escape(request.at)} \xB7 ${escape(request.path)} \xB7 ${request.bytes} bytes \xB7 answered ${request.status}
    ${request.problem ? `\xB7 ${escape(request.problem)}` : ""}</p>
  ${items.join("") || "<p>No items.</p>"}
</article>`;
}
__name(row, "row");
function title(json2) {
  const last = json2?.exception?.values?.at(-1);
  if (last !== void 0) return `${last.type ?? ""}: ${last.value ?? ""}`;
  const message = json2?.logentry?.formatted ?? json2?.logentry?.message ?? json2?.message;
  return typeof message === "string" ? message : "";
}
__name(title, "title");

// worker.js
var MAX_KEPT_BYTES = 1024 * 1024;
var MAX_REQUESTS = 200;
var State = class extends DurableObject {
  static {
    __name(this, "State");
  }
  /**
   * @param {DurableObjectState} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(
      "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, token TEXT NOT NULL, record TEXT NOT NULL, body BLOB)"
    );
    this.sql.exec(
      "CREATE TABLE IF NOT EXISTS answers (token TEXT PRIMARY KEY, answer TEXT NOT NULL)"
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
      kept
    );
    this.sql.exec(
      "DELETE FROM requests WHERE token = ? AND id NOT IN (SELECT id FROM requests WHERE token = ? ORDER BY id DESC LIMIT ?)",
      token,
      token,
      MAX_REQUESTS
    );
    return answer;
  }
  /**
   * @param {string} token
   * @returns {Answer}
   */
  #answer(token) {
    const [row2] = this.sql.exec("SELECT answer FROM answers WHERE token = ?", token).toArray();
    if (row2 === void 0) return { status: 200, headers: {}, body: null, delayMs: 0, times: 0 };
    const answer = JSON.parse(String(row2.answer));
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
      token
    );
    return rows.toArray().map(({ record, body }) => ({
      ...JSON.parse(String(record)),
      bodyBase64: body === null ? null : base64(new Uint8Array(
        /** @type {ArrayBuffer} */
        body
      ))
    }));
  }
  tokens() {
    return this.sql.exec("SELECT DISTINCT token FROM requests ORDER BY token").toArray().map(({ token }) => String(token));
  }
  /** @param {string} token */
  clear(token) {
    this.sql.exec("DELETE FROM requests WHERE token = ?", token);
    this.sql.exec("DELETE FROM answers WHERE token = ?", token);
  }
};
var worker_default = {
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
  }
};
async function show(request, url, state) {
  const token = url.searchParams.get("token") ?? "public";
  switch (request.method) {
    case "GET": {
      const [requests, tokens] = [await state.read(token), await state.tokens()];
      const wantsPage = url.pathname === "/__mocks" && request.headers.get("accept")?.includes("text/html");
      return wantsPage ? new Response(page(token, tokens, requests), {
        headers: { "content-type": "text/html; charset=utf-8" }
      }) : Response.json({ token, tokens, requests });
    }
    case "PUT":
      await state.tell(token, await request.json());
      return Response.json({ token });
    case "DELETE":
    case "POST":
      await state.clear(token);
      return request.method === "POST" ? Response.redirect(new URL(`/__mocks?token=${encodeURIComponent(token)}`, url).href, 303) : Response.json({ token });
    default:
      return new Response(null, { status: 405, headers: { allow: "GET, PUT, POST, DELETE" } });
  }
}
__name(show, "show");
async function ingest(request, url, state) {
  if (request.method !== "POST") {
    return new Response(null, { status: 405, headers: { allow: "POST" } });
  }
  const received = new Uint8Array(await request.arrayBuffer());
  let body = received;
  let problem = null;
  let envelope = { header: (
    /** @type {any} */
    null
  ), items: (
    /** @type {Item[]} */
    []
  ) };
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
      at: (/* @__PURE__ */ new Date()).toISOString(),
      path: url.pathname,
      query: url.search,
      headers: Object.fromEntries(request.headers),
      bytes: body.byteLength,
      sha256: hex(await crypto.subtle.digest("SHA-256", body)),
      ...envelope,
      problem
    },
    body
  );
  if (answer.delayMs > 0) await new Promise((done) => setTimeout(done, answer.delayMs));
  const event = envelope.items.find(({ header }) => header.type === "event");
  const id = envelope.header?.event_id ?? event?.json?.event_id;
  return new Response(answer.body ?? JSON.stringify(id === void 0 ? {} : { id }), {
    status: answer.status,
    headers: { "content-type": "application/json", ...answer.headers }
  });
}
__name(ingest, "ingest");
function keyOf(request, url, header) {
  const auth = /sentry_key=([^,\s]+)/.exec(request.headers.get("x-sentry-auth") ?? "")?.[1];
  const dsn = /^\w+:\/\/([^:@/]+)/.exec(String(header?.dsn ?? ""))?.[1];
  return auth ?? url.searchParams.get("sentry_key") ?? dsn;
}
__name(keyOf, "keyOf");
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
__name(inflate, "inflate");
function parse(bytes) {
  const decoder = new TextDecoder();
  let at = 0;
  const line = /* @__PURE__ */ __name(() => {
    const newline = bytes.indexOf(10, at);
    const end = newline === -1 ? bytes.byteLength : newline;
    const text = bytes.subarray(at, end);
    at = end + 1;
    return text;
  }, "line");
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
      json: json(decoder.decode(payload))
    });
  }
  return { header, items };
}
__name(parse, "parse");
function json(text) {
  if (text.length > MAX_KEPT_BYTES / 4) return void 0;
  try {
    return JSON.parse(text);
  } catch {
    return void 0;
  }
}
__name(json, "json");
function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.byteLength; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(text);
}
__name(base64, "base64");
function hex(bytes) {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
__name(hex, "hex");

// ../../node_modules/wrangler/templates/middleware/middleware-ensure-req-body-drained.ts
var drainBody = /* @__PURE__ */ __name(async (request, env, _ctx, middlewareCtx) => {
  try {
    return await middlewareCtx.next(request, env);
  } finally {
    try {
      if (request.body !== null && !request.bodyUsed) {
        const reader = request.body.getReader();
        while (!(await reader.read()).done) {
        }
      }
    } catch (e) {
      console.error("Failed to drain the unused request body.", e);
    }
  }
}, "drainBody");
var middleware_ensure_req_body_drained_default = drainBody;

// ../../node_modules/wrangler/templates/middleware/middleware-miniflare3-json-error.ts
function reduceError(e) {
  return {
    name: e?.name,
    message: e?.message ?? String(e),
    stack: e?.stack,
    cause: e?.cause === void 0 ? void 0 : reduceError(e.cause)
  };
}
__name(reduceError, "reduceError");
var jsonError = /* @__PURE__ */ __name(async (request, env, _ctx, middlewareCtx) => {
  try {
    return await middlewareCtx.next(request, env);
  } catch (e) {
    const error = reduceError(e);
    const body = JSON.stringify(error);
    const headers = {
      "Content-Type": "application/json",
      "MF-Experimental-Error-Stack": "true"
    };
    const encoded = encodeURIComponent(body);
    if (encoded.length <= 8192) {
      headers["MF-Experimental-Error-Stack-Payload"] = encoded;
    }
    return new Response(body, { status: 500, headers });
  }
}, "jsonError");
var middleware_miniflare3_json_error_default = jsonError;

// .wrangler/tmp/bundle-gFwmHD/middleware-insertion-facade.js
var __INTERNAL_WRANGLER_MIDDLEWARE__ = [
  middleware_ensure_req_body_drained_default,
  middleware_miniflare3_json_error_default
];
var middleware_insertion_facade_default = worker_default;

// ../../node_modules/wrangler/templates/middleware/common.ts
var __facade_middleware__ = [];
function __facade_register__(...args) {
  __facade_middleware__.push(...args.flat());
}
__name(__facade_register__, "__facade_register__");
function __facade_invokeChain__(request, env, ctx, dispatch, middlewareChain) {
  const [head, ...tail] = middlewareChain;
  const middlewareCtx = {
    dispatch,
    next(newRequest, newEnv) {
      return __facade_invokeChain__(newRequest, newEnv, ctx, dispatch, tail);
    }
  };
  return head(request, env, ctx, middlewareCtx);
}
__name(__facade_invokeChain__, "__facade_invokeChain__");
function __facade_invoke__(request, env, ctx, dispatch, finalMiddleware) {
  return __facade_invokeChain__(request, env, ctx, dispatch, [
    ...__facade_middleware__,
    finalMiddleware
  ]);
}
__name(__facade_invoke__, "__facade_invoke__");

// .wrangler/tmp/bundle-gFwmHD/middleware-loader.entry.ts
var __Facade_ScheduledController__ = class ___Facade_ScheduledController__ {
  constructor(scheduledTime, cron, noRetry) {
    this.scheduledTime = scheduledTime;
    this.cron = cron;
    this.#noRetry = noRetry;
  }
  scheduledTime;
  cron;
  static {
    __name(this, "__Facade_ScheduledController__");
  }
  #noRetry;
  noRetry() {
    if (!(this instanceof ___Facade_ScheduledController__)) {
      throw new TypeError("Illegal invocation");
    }
    this.#noRetry();
  }
};
function wrapExportedHandler(worker) {
  if (__INTERNAL_WRANGLER_MIDDLEWARE__ === void 0 || __INTERNAL_WRANGLER_MIDDLEWARE__.length === 0) {
    return worker;
  }
  for (const middleware of __INTERNAL_WRANGLER_MIDDLEWARE__) {
    __facade_register__(middleware);
  }
  const fetchDispatcher = /* @__PURE__ */ __name(function(request, env, ctx) {
    if (worker.fetch === void 0) {
      throw new Error("Handler does not export a fetch() function.");
    }
    return worker.fetch(request, env, ctx);
  }, "fetchDispatcher");
  return {
    ...worker,
    fetch(request, env, ctx) {
      const dispatcher = /* @__PURE__ */ __name(function(type, init) {
        if (type === "scheduled" && worker.scheduled !== void 0) {
          const controller = new __Facade_ScheduledController__(
            Date.now(),
            init.cron ?? "",
            () => {
            }
          );
          return worker.scheduled(controller, env, ctx);
        }
      }, "dispatcher");
      return __facade_invoke__(request, env, ctx, dispatcher, fetchDispatcher);
    }
  };
}
__name(wrapExportedHandler, "wrapExportedHandler");
function wrapWorkerEntrypoint(klass) {
  if (__INTERNAL_WRANGLER_MIDDLEWARE__ === void 0 || __INTERNAL_WRANGLER_MIDDLEWARE__.length === 0) {
    return klass;
  }
  for (const middleware of __INTERNAL_WRANGLER_MIDDLEWARE__) {
    __facade_register__(middleware);
  }
  return class extends klass {
    #fetchDispatcher = /* @__PURE__ */ __name((request, env, ctx) => {
      this.env = env;
      this.ctx = ctx;
      if (super.fetch === void 0) {
        throw new Error("Entrypoint class does not define a fetch() function.");
      }
      return super.fetch(request);
    }, "#fetchDispatcher");
    #dispatcher = /* @__PURE__ */ __name((type, init) => {
      if (type === "scheduled" && super.scheduled !== void 0) {
        const controller = new __Facade_ScheduledController__(
          Date.now(),
          init.cron ?? "",
          () => {
          }
        );
        return super.scheduled(controller);
      }
    }, "#dispatcher");
    fetch(request) {
      return __facade_invoke__(
        request,
        this.env,
        this.ctx,
        this.#dispatcher,
        this.#fetchDispatcher
      );
    }
  };
}
__name(wrapWorkerEntrypoint, "wrapWorkerEntrypoint");
var WRAPPED_ENTRY;
if (typeof middleware_insertion_facade_default === "object") {
  WRAPPED_ENTRY = wrapExportedHandler(middleware_insertion_facade_default);
} else if (typeof middleware_insertion_facade_default === "function") {
  WRAPPED_ENTRY = wrapWorkerEntrypoint(middleware_insertion_facade_default);
}
var middleware_loader_entry_default = WRAPPED_ENTRY;
export {
  State,
  __INTERNAL_WRANGLER_MIDDLEWARE__,
  middleware_loader_entry_default as default
};
//# sourceMappingURL=worker.js.map
