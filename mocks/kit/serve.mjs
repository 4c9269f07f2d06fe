// A stand-in in node: on a loopback port, for tests and for trying things out.
import http from "node:http";
import { refuse, stateName, tokenOf } from "./token.mjs";

/**
 * @template {import("./mock.mjs").Mock} M
 * @param {() => M} make One stand-in for each token that comes.
 * @param {{port?: number, token?: string, shared?: boolean}} [options] `shared`: all tokens have one state.
 * @returns {Promise<{url: string, mock: (token?: string) => Promise<M>, close: () => Promise<void>}>}
 */
export async function serve(make, { port = 0, token, shared = false } = {}) {
  /** @type {Map<string, M>} */
  const mocks = new Map();
  /** @param {string | undefined} given */
  const mockOf = async (given) => {
    const name = shared ? "shared" : await stateName(given);
    const known = mocks.get(name) ?? make();
    mocks.set(name, known);
    return known;
  };
  const server = http.createServer((incoming, outgoing) => {
    void answer(incoming, outgoing).catch((error) => {
      outgoing.writeHead(500).end(String(error?.stack ?? error));
    });
  });
  /**
   * @param {http.IncomingMessage} incoming
   * @param {http.ServerResponse} outgoing
   */
  const answer = async (incoming, outgoing) => {
    /** @type {Buffer[]} */
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const headers = new Headers();
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      headers.append(String(incoming.rawHeaders[at]), String(incoming.rawHeaders[at + 1]));
    }
    const method = incoming.method ?? "GET";
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method,
      headers,
      ...(method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) }),
    });
    const response =
      (await refuse(request, token)) ?? (await (await mockOf(tokenOf(request))).fetch(request));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  };
  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}`,
    mock: mockOf,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
