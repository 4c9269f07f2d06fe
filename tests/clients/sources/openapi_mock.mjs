// A service that is nothing but an OpenAPI document: openapi-backend holds each request against it, credentials
// too, and makes the answers of its examples and schemas.
//
//   node openapi_mock.mjs PORT DOCUMENT [SLOW]
//
// GET /__mocks/document gives the document as it is; GET /__mocks/heard what was asked, the newest last. Operations
// are served as the document writes them. SLOW, method and path as the document has them, is never answered. What a
// path parameter names that ends in `missing` is not found.
import fs from "node:fs";
import { createServer } from "node:http";
import { OpenAPIBackend } from "openapi-backend";
import { parse } from "yaml";

const [port, file = "", slow] = process.argv.slice(2);
const text = fs.readFileSync(file, "utf8");
/** What stands in the place of every credential. */
const CREDENTIAL = "s3cret-of-the-mock";

const yaml = !file.endsWith(".json");
const definition = yaml ? parse(text, { maxAliasCount: -1 }) : JSON.parse(text);
/** @type {{operation: string, validated: boolean, query: unknown, body: unknown, credentials: string[], left: boolean}[]} */
const heard = [];

for (const [path, item] of Object.entries(definition.paths)) {
  for (const method of ["get", "put", "post", "delete", "patch"]) {
    // It answers by the id, which not every operation has.
    if (item[method]) item[method].operationId = `${method.toUpperCase()} ${path}`;
  }
}

/** @type {Record<string, any>} */
const schemes = definition.components?.securitySchemes ?? {};
/** @type {Record<string, import("openapi-backend").Handler>} */
const securityHandlers = {};
for (const [name, scheme] of Object.entries(schemes)) {
  const header = scheme.type === "apiKey" ? scheme.name.toLowerCase() : "authorization";
  securityHandlers[name] = ({ request }) =>
    String(request.headers[header] ?? "").endsWith(CREDENTIAL);
}
const api = new OpenAPIBackend({
  definition,
  quick: true, // no document of these is without a fault
  ajvOpts: { strict: false, validateFormats: false },
  securityHandlers,
  handlers: {
    notFound: () => ({ status: 404, body: { message: "the document has no such operation" } }),
    methodNotAllowed: () => ({ status: 405, body: { message: "not with this method" } }),
    validationFail: ({ validation }) => ({
      status: 400,
      body: { message: "the request is not as the document says", errors: validation.errors },
    }),
    unauthorizedHandler: () => ({ status: 401, body: { message: "no valid credentials" } }),
    notImplemented: ({ operation, request }) => {
      if (Object.values(request.params ?? {}).some((value) => `${value}`.endsWith("missing"))) {
        return { status: 404, body: { message: "nothing has this name" } };
      }
      const { status, mock } = api.mockResponseForOperation(String(operation.operationId));
      return { status, body: mock };
    },
  },
});
await api.init();

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const url = new URL(request.url ?? "/", `http://127.0.0.1:${port}`);
  const send = (/** @type {number} */ status, /** @type {unknown} */ body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  if (url.pathname === "/__mocks/document") {
    response.writeHead(200, { "content-type": yaml ? "application/yaml" : "application/json" });
    response.end(text);
    return;
  }
  if (url.pathname === "/__mocks/heard") return send(200, heard);
  const asked = {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.search.slice(1),
    headers: /** @type {Record<string, string>} */ (request.headers),
    body: bytes.length === 0 ? undefined : JSON.parse(bytes.toString("utf8")),
  };
  const operation = String(api.matchOperation(asked)?.operationId);
  const entry = {
    operation,
    query: Object.fromEntries(url.searchParams),
    body: asked.body,
    credentials: Object.keys(request.headers).filter((name) =>
      String(request.headers[name]).includes(CREDENTIAL),
    ),
    validated: false,
    left: false,
  };
  heard.push(entry);
  response.on("close", () => (entry.left = !response.writableEnded));
  const answer = await api.handleRequest(asked);
  entry.validated = answer.status < 300;
  if (operation === slow) return;
  send(answer.status, answer.body);
}).listen(Number(port), "127.0.0.1");
