// The peers, each as small as it can honestly be, behind one address:
//
//   POST /floor        the platform alone: LOADER.load, and a method that runs the program
//   POST /warm         the platform alone: LOADER.get of one id, and a method
//   POST /stores       the platform alone, storing: what Holdfast promises and no more of it. A request
//                      of its own for the run, one batch that begins it, one before each call of a tool
//                      that may change something, one with the answer
//   POST /warm-stores  the same with LOADER.get
//   POST /codemode     @cloudflare/codemode: DynamicWorkerExecutor
//   POST /codemode-mcp the same behind its own MCP wrapper and the SDK's transport
//
// The body is the program. All of them call the same tool, at TOOLS, as Holdfast does (`call`), and one
// that answers at the host (`look`; Holdfast's is `emit`).
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { codeMcpServer } from "@cloudflare/codemode/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { WorkerEntrypoint } from "cloudflare:workers";
import { z } from "zod";

const COMPATIBILITY_DATE = "2026-08-01";

/** No contender may be the one that waits for less. */
const TIMEOUT_MS = 90_000;

/** @param {string} program an async arrow function that is given `call` and `look` */
const moduleOf = (program) => `
import { WorkerEntrypoint } from "cloudflare:workers";
const program = ${program};
export default class extends WorkerEntrypoint {
  async evaluate(dispatch) {
    const logs = [];
    console.log = (...parts) => void logs.push(parts.join(" "));
    const call = async (argument) => JSON.parse(await dispatch("echo", JSON.stringify(argument)));
    const look = async (argument) => JSON.parse(await dispatch("look", JSON.stringify(argument)));
    return { result: await program(call, look), logs };
  }
}`;

const SCHEMA = [
  "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, status TEXT, began INTEGER, ended INTEGER)",
  "CREATE TABLE IF NOT EXISTS inputs (run TEXT PRIMARY KEY, source TEXT)",
  "CREATE TABLE IF NOT EXISTS calls (run TEXT, n INTEGER, path TEXT, argument TEXT, PRIMARY KEY (run, n))",
  "CREATE TABLE IF NOT EXISTS answers (run TEXT PRIMARY KEY, text TEXT)",
];

/** The database has its tables. */
let ready = false;

/** @param {string} program */
const workerOf = (program) => ({
  compatibilityDate: COMPATIBILITY_DATE,
  mainModule: "main.js",
  modules: { "main.js": moduleOf(program) },
  globalOutbound: null,
});

export default class Peers extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const { env } = /** @type {any} */ (this);
    const look = async (/** @type {unknown} */ _argument) => null;
    const dispatch = async (/** @type {string} */ path, /** @type {string} */ argument) => {
      if (path === "look") return JSON.stringify(await look(JSON.parse(argument)));
      return JSON.stringify(JSON.parse(await env.TOOLS.call(path, argument, "{}")).value);
    };
    const echo = async (/** @type {unknown} */ argument) =>
      JSON.parse(await dispatch("echo", JSON.stringify(argument)));
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response("ok");
    if (pathname === "/codemode-mcp") return mcp(env, request, echo);
    const program = await request.text();
    if (pathname === "/floor") {
      const sandbox = env.LOADER.load(workerOf(program)).getEntrypoint();
      return Response.json(await sandbox.evaluate(dispatch));
    }
    if (pathname === "/warm") {
      const sandbox = env.LOADER.get("warm", () => workerOf(program)).getEntrypoint();
      return Response.json(await sandbox.evaluate(dispatch));
    }
    if (pathname.endsWith("stores")) {
      const { exports } = /** @type {any} */ (this).ctx;
      return new Response(await exports.Storing.run(program, pathname === "/warm-stores"));
    }
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout: TIMEOUT_MS });
    const answer = await executor.execute(program, [{ name: "codemode", fns: { echo, look } }]);
    return Response.json(answer);
  }
}

export class Storing extends WorkerEntrypoint {
  /**
   * @param {string} program
   * @param {boolean} warm
   */
  async run(program, warm) {
    const { DB, LOADER, TOOLS } = /** @type {any} */ (this).env;
    if (!ready) await DB.batch(SCHEMA.map((sql) => DB.prepare(sql)));
    ready = true;
    const id = crypto.randomUUID();
    const say = (/** @type {string} */ sql, /** @type {unknown[]} */ ...values) =>
      DB.prepare(sql).bind(...values);
    await DB.batch([
      say("INSERT INTO runs (id, status, began) VALUES (?1, 'running', ?2)", id, Date.now()),
      say("INSERT INTO inputs (run, source) VALUES (?1, ?2)", id, program),
    ]);
    let calls = 0;
    const dispatch = async (/** @type {string} */ path, /** @type {string} */ argument) => {
      if (path === "look") return "null";
      const call = "INSERT INTO calls (run, n, path, argument) VALUES (?1, ?2, ?3, ?4)";
      await DB.batch([say(call, id, (calls += 1), path, argument.slice(0, 4096))]);
      return JSON.stringify(JSON.parse(await TOOLS.call(path, argument, "{}")).value);
    };
    const stub = warm
      ? LOADER.get("warm", () => workerOf(program))
      : LOADER.load(workerOf(program));
    const text = JSON.stringify(await stub.getEntrypoint().evaluate(dispatch));
    await DB.batch([
      say("INSERT INTO answers (run, text) VALUES (?1, ?2)", id, text),
      say("UPDATE runs SET status = 'completed', ended = ?2 WHERE id = ?1", id, Date.now()),
    ]);
    return text;
  }
}

/**
 * @param {any} env
 * @param {Request} request
 * @param {(argument: unknown) => Promise<unknown>} echo
 */
async function mcp(env, request, echo) {
  const tools = new McpServer({ name: "tools", version: "1.0.0" });
  tools.registerTool("echo", { inputSchema: { n: z.number() } }, async (given) => ({
    content: [{ type: "text", text: JSON.stringify(await echo(given)) }],
  }));
  const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout: TIMEOUT_MS });
  const server = await codeMcpServer({ server: tools, executor });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await server.connect(transport);
  return transport.handleRequest(request);
}
