// Rule: no request that a principal has a say in reaches this machine, its network or the cloud's own
// services, however the address is spelt and however it is led there. Listeners on loopback stay untouched.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { sleep, start } from "./harness.mjs";

/** @type {string[]} what reached a listener that nothing may reach */
const touched = [];
/** @type {import("node:http").Server[]} */
const listeners = [];
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** The one address that the deployment opens: it redirects to wherever its path says. */
let door = "";
/** @type {{headers: import("node:http").IncomingHttpHeaders}[]} */
const atDoor = [];
/** @type {{headers: import("node:http").IncomingHttpHeaders}[]} */
const atSecondDoor = [];
let secondDoor = "";
let port = 0;

/** @param {import("node:http").RequestListener} listener @param {string} host @param {number} [on] */
async function listen(listener, host, on = 0) {
  const server = createServer(listener);
  listeners.push(server);
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(on, host, () => resolve(undefined));
  });
  return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
}

before(async () => {
  /** @type {import("node:http").RequestListener} */
  const alarm = (request, response) => {
    touched.push(`${request.headers.host} ${request.url}`);
    response.end("reached");
  };
  port = await listen(alarm, "127.0.0.1");
  await listen(alarm, "::1", port).catch(() => undefined); // a machine without IPv6
  const doorPort = await listen((request, response) => {
    atDoor.push({ headers: request.headers });
    const to = decodeURIComponent((request.url ?? "/").slice(1));
    if (to === "") response.end("open");
    else response.writeHead(307, { location: Buffer.from(to).toString("latin1") }).end();
  }, "127.0.0.1");
  door = `http://127.0.0.1:${doorPort}`;
  const second = await listen((request, response) => {
    atSecondDoor.push({ headers: request.headers });
    response.end("second");
  }, "127.0.0.1");
  secondDoor = `http://127.0.0.1:${second}`;
  w = await start({
    vars: {
      HOLDFAST_HTTP_HOSTS: `${door}, ${secondDoor}`,
      HOLDFAST_SOURCE_HOSTS: `public, ${door}`,
    },
    outbound: "network",
  });
});
after(async () => {
  await w?.stop();
  for (const server of listeners) server.close();
});

/** Every spelling under which a listener could be reached, and what no listener is needed for. */
const addresses = () => [
  `http://127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}/`,
  `http://127.1:${port}/`,
  `http://127.0.1:${port}/`,
  `http://2130706433:${port}/`,
  `http://0x7f000001:${port}/`,
  `http://0x7f.0.0.1:${port}/`,
  `http://0x7f.1:${port}/`,
  `http://0177.0.0.1:${port}/`,
  `http://017700000001:${port}/`,
  `http://127.0.0.1.:${port}/`,
  `http://127.255.255.254:${port}/`,
  `http://0.0.0.0:${port}/`,
  `http://0:${port}/`,
  `http://localhost:${port}/`,
  `http://LOCALHOST:${port}/`,
  `http://localhost.:${port}/`,
  `http://a.localhost:${port}/`,
  `http://[::1]:${port}/`,
  `http://[0:0:0:0:0:0:0:1]:${port}/`,
  `http://[::]:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://[::ffff:7f00:1]:${port}/`,
  `http://[::127.0.0.1]:${port}/`,
  `http://[64:ff9b::127.0.0.1]:${port}/`,
  `http://[2002:7f00:1::]:${port}/`,
  `http://１２７.0.0.1:${port}/`,
  `http://①②⑦.0.0.1:${port}/`,
  `http://127。0。0。1:${port}/`,
  `http://127%2e0%2e0%2e1:${port}/`,
  `http:\\\\127.0.0.1:${port}\\`,
  `http:/127.0.0.1:${port}/`,
  `http://x@127.0.0.1:${port}/`,
  `http://${door.slice(7)}@127.0.0.1:${port}/`,
  "http://169.254.169.254/latest/meta-data/",
  "http://0xa9fea9fe/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://metadata.google.internal/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://192.168.0.1/",
  "http://100.64.0.1/",
  "http://printer.local/",
  "http://router/",
  `ftp://127.0.0.1:${port}/`,
  `file:///etc/hosts`,
  `data:text/plain,x`,
];

test("there are forty and more", () => assert.ok(addresses().length >= 40));

test("http.fetch and fetch reach none of them, in any spelling", async () => {
  const run = await w.execute({
    code: `
      const reached = [];
      for (const url of params.urls) {
        try { reached.push([url, await tools.http.fetch({ url })]); } catch (error) {
          if (!/^HF_E1(404|604)$/.test(error.code)) reached.push([url, error.code, error.message]);
        }
        try { const answer = await fetch(url); reached.push([url, answer.status]); } catch {}
      }
      return reached;`,
    params: { urls: addresses() },
  });
  assert.deepEqual(run.result, [], JSON.stringify(run.error));
  assert.deepEqual(touched, []);
});

test("a redirect leads to none of them", async () => {
  // One spelling is a path where the scheme is the same: it leads back to the door.
  const away = addresses().filter(
    (to) => !URL.canParse(to, door) || new URL(to, door).origin !== door,
  );
  assert.ok(away.length >= 40, `${away.length} lead away`);
  const urls = away.map((to) => `${door}/${encodeURIComponent(to)}`);
  const before = atDoor.length;
  const run = await w.execute({
    code: `
      const reached = [];
      for (const url of params.urls) {
        try { reached.push([url, await tools.http.fetch({ url })]); } catch (error) {
          if (!/^HF_E1(404|605)$/.test(error.code)) reached.push([url, error.code, error.message]);
        }
      }
      return reached;`,
    params: { urls },
  });
  assert.deepEqual(run.result, [], JSON.stringify(run.error));
  assert.ok(atDoor.length - before >= urls.length, "the door was not tried");
  assert.deepEqual(touched, []);
});

test("no source is connected at any of them, nor led there", async () => {
  for (const url of addresses()) {
    const { status, body } = await w.json(
      "/v1/sources/bad",
      { kind: "mcp", url },
      { method: "PUT" },
    );
    assert.ok([400, 403].includes(status), `${url}: ${status} ${JSON.stringify(body)}`);
  }
  for (const to of addresses().slice(0, 6)) {
    const url = `${door}/${encodeURIComponent(to)}`;
    const settings = { kind: "mcp", url };
    const { body } = await w.json("/v1/sources/led", settings, {
      method: "PUT",
      timeoutMs: 60_000,
    });
    assert.equal(body.state, "down", JSON.stringify(body));
  }
  assert.deepEqual(touched, []);
});

test("what a request was trusted with stays with its origin", async () => {
  const url = `${door}/${encodeURIComponent(`${secondDoor}/x`)}`;
  const run = await w.execute(`
    const answer = await tools.http.fetch({
      url: ${JSON.stringify(url)},
      headers: { authorization: "Bearer of-the-program", cookie: "a=b", "x-note": "kept" },
    });
    return answer.body;`);
  assert.equal(run.result, "second", run.error);
  const heard = atSecondDoor.at(-1)?.headers ?? {};
  assert.equal(heard["x-note"], "kept");
  assert.equal(heard.authorization, undefined);
  assert.equal(heard.cookie, undefined);
});

test("redirects without end come to an end", async () => {
  const run = await w.execute(`
    try { await tools.http.fetch({ url: ${JSON.stringify(`${door}/%2F%252F`)} }); return "ended"; }
    catch (error) { return error.code; }`);
  assert.ok(["ended", "HF_E1605"].includes(run.result), JSON.stringify(run));
  await sleep(50);
  assert.deepEqual(touched, []);
});
