// Puts a server that speaks over stdio on HTTP, by the official SDK's transports: each session has a process of
// its own.
//
//   node stdio_bridge.mjs PORT COMMAND [ARGUMENT]…
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const [port, command = "", ...args] = process.argv.slice(2);
/** @type {Map<string, StreamableHTTPServerTransport>} */
const sessions = new Map();

async function open() {
  const inner = new StdioClientTransport({ command, args, stderr: "ignore" });
  const outer = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, outer),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  outer.onmessage = (message) => void inner.send(message);
  inner.onmessage = (message) => void outer.send(message).catch(() => undefined);
  outer.onclose = () => void inner.close();
  inner.onclose = () => void outer.close();
  await inner.start();
  return outer;
}

createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const known = typeof id === "string" ? sessions.get(id) : undefined;
  if (typeof id === "string" && known === undefined) {
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
    return;
  }
  await (known ?? (await open())).handleRequest(request, response);
}).listen(Number(port), "127.0.0.1");
