// A stand-in for MCP servers, on loopback, of either wire era. It answers as it is told to, and keeps what
// it heard. What real servers do is proved in tests/clients.
import { createServer } from "node:http";

/**
 * @typedef {object} Heard
 * @property {string} method of HTTP
 * @property {import("node:http").IncomingHttpHeaders} headers
 * @property {any} body
 */

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [description]
 * @property {unknown} [inputSchema]
 * @property {unknown} [outputSchema]
 * @property {Record<string, unknown>} [annotations]
 * @property {(args: any, call: Call) => unknown} [call] gives the result
 */

/**
 * @typedef {object} Call
 * @property {(message: object) => void} note sends a notification ahead of the result
 * @property {Promise<void>} gone settles when the client hung up or cancelled
 * @property {import("node:http").IncomingHttpHeaders} headers
 */

const MODERN = "2026-07-28";

/**
 * @param {object} options
 * @param {"modern" | "legacy"} [options.era]
 * @param {Tool[]} [options.tools]
 * @param {number} [options.pageSize]
 * @param {boolean} [options.sse] whether results come as events
 */
export async function mcpStand({ era = "legacy", tools = [], pageSize = 100, sse = false } = {}) {
  const state = {
    tools,
    /** @type {Heard[]} */
    heard: [],
    /** @type {Set<string>} */
    sessions: new Set(),
    /** @type {number[]} ids of cancelled requests */
    cancelled: [],
    hungUp: 0,
    /** @type {number | undefined} answered to everything */
    status: /** @type {number | undefined} */ (undefined),
    /** @type {string | undefined} the authorization that is wanted */
    authorization: /** @type {string | undefined} */ (undefined),
  };
  /** @type {Map<number, () => void>} */
  const waiting = new Map();

  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = text === "" ? undefined : JSON.parse(text);
    state.heard.push({ method: request.method ?? "", headers: request.headers, body });
    const json = (/** @type {number} */ status, /** @type {unknown} */ value, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(value));
    };
    if (state.status !== undefined) return json(state.status, { error: "told to" });
    if (
      state.authorization !== undefined &&
      request.headers.authorization !== state.authorization
    ) {
      return json(401, { error: "unauthorized" });
    }
    if (request.method === "DELETE") {
      state.sessions.delete(String(request.headers["mcp-session-id"]));
      response.writeHead(200).end();
      return;
    }
    if (request.method !== "POST") return json(405, {});
    const refuse = (/** @type {number} */ status, /** @type {number} */ code) =>
      json(status, { jsonrpc: "2.0", id: body.id ?? null, error: { code, message: "no" } });
    if (era === "modern") {
      const version = body.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
      const { "mcp-protocol-version": header, "mcp-method": method } = request.headers;
      if (version !== MODERN || header !== version || method !== body.method) {
        return refuse(400, -32020);
      }
    } else {
      const session = String(request.headers["mcp-session-id"]);
      if (body.method === "initialize") {
        const id = `session-${state.heard.length}`;
        state.sessions.add(id);
        const result = {
          protocolVersion: body.params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "stand", version: "1" },
        };
        return json(200, { jsonrpc: "2.0", id: body.id, result }, { "mcp-session-id": id });
      }
      if (request.headers["mcp-session-id"] === undefined) return refuse(400, -32000);
      if (!state.sessions.has(session)) return refuse(404, -32001);
    }
    if (body.id === undefined) {
      if (body.method === "notifications/cancelled") {
        state.cancelled.push(body.params.requestId);
        waiting.get(body.params.requestId)?.();
      }
      response.writeHead(202).end();
      return;
    }
    const complete = era === "modern" ? { resultType: "complete" } : {};
    if (body.method === "server/discover") {
      const result = {
        ...complete,
        supportedVersions: [MODERN],
        capabilities: { tools: {} },
        ...{ ttlMs: 300_000, cacheScope: "private" },
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "stand", version: "1" } },
      };
      return json(200, { jsonrpc: "2.0", id: body.id, result });
    }
    if (body.method === "tools/list") {
      const from = Number(body.params?.cursor ?? 0);
      const page = state.tools.slice(from, from + pageSize).map(({ call: _call, ...tool }) => ({
        inputSchema: { type: "object" },
        ...tool,
      }));
      const more = from + pageSize < state.tools.length;
      const result = {
        ...complete,
        tools: page,
        ...(more ? { nextCursor: `${from + pageSize}` } : {}),
      };
      return json(200, { jsonrpc: "2.0", id: body.id, result });
    }
    if (body.method !== "tools/call") return refuse(era === "modern" ? 404 : 200, -32601);
    const tool = state.tools.find(({ name }) => name === body.params.name);
    if (tool?.call === undefined) return refuse(200, -32602);
    const gone = new Promise((resolve) => {
      waiting.set(body.id, () => resolve(undefined));
      response.on("close", () => {
        if (!response.writableEnded) state.hungUp += 1;
        resolve(undefined);
      });
    });
    const event = (/** @type {unknown} */ message) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    };
    const result = await tool.call(body.params.arguments, {
      note: (message) => event({ jsonrpc: "2.0", ...message }),
      gone: /** @type {Promise<void>} */ (gone),
      headers: request.headers,
    });
    const message = {
      jsonrpc: "2.0",
      id: body.id,
      result: { ...complete, .../** @type {object} */ (result) },
    };
    if (!sse && !response.headersSent) return json(200, message);
    event(message);
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return Object.assign(state, {
    origin: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(() => resolve(undefined)));
    },
  });
}

/** @param {string} text */
export const text = (text) => ({ content: [{ type: "text", text }] });
