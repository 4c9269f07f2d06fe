// Puts a bearer token on every request, for a tool that has no option for one.
//
// Listens on loopback only: whoever reaches it is authenticated, so it is ended with the test. All
// other headers pass untouched, Host and Origin among them; bodies stream both ways, and a hang-up
// of the client is a hang-up on the server.
import http from "node:http";

/**
 * @param {URL} target whose host gets the requests
 * @param {string} token
 * @returns {Promise<{origin: string, stop: () => Promise<void>}>}
 */
export async function bearerProxy(target, token) {
  const server = http.createServer((request, response) => {
    const upstream = http.request(
      {
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers: { ...request.headers, authorization: `Bearer ${token}` },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on("error", () => {
      if (!response.headersSent) response.writeHead(502);
      response.end();
    });
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(undefined));
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
