// Holdfast on this machine: set up, built, migrated, running, and ended with Ctrl-C.
//
//   npm start -- [--port N] [--state DIR]
//
// --port N      on which it answers, on loopback only (8787; 0 takes any free one)
// --state DIR   where its embedded D1 lives (.holdfast/state)
//
// HOLDFAST_ADMIN_TOKEN of the environment wins over the token in .dev.vars.
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { build } from "./build.mjs";
import { Refusal, options, run, script, serve } from "./lib/command.mjs";
import { ROOT, STATE } from "./lib/places.mjs";
import { startSentryMock } from "./lib/mocks.mjs";
import { localSecrets } from "./lib/secrets.mjs";
import { WRANGLER, migrate, wranglerEnv } from "./lib/wrangler.mjs";

const USAGE = "usage: npm start -- [--port N] [--state DIR]";
const HOST = "127.0.0.1";
const DEFAULT_PORT = 8787;

/** How long wrangler may take to answer; it does within seconds, a busy machine takes longer. */
const READY_MS = 120_000;

/** The cron trigger of wrangler.toml, which nothing fires on this machine. */
const CRON_MS = 60_000;
const CRON = "/cdn-cgi/local/scheduled?cron=*+*+*+*+*";

await script(import.meta.url, async () => {
  const began = Date.now();
  const { values } = options(
    { port: { type: "string" }, state: { type: "string" }, help: { type: "boolean" } },
    { usage: USAGE },
  );
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const given = tokenOfEnvironment();
  const port = await freePort(values.port);
  const state = values.state === undefined ? STATE : path.resolve(values.state);
  fs.mkdirSync(state, { recursive: true });

  await build({ fast: true });
  const applied = await migrate(state);
  if (applied.length > 0) console.log(`Applied ${applied.join(", ")}`);

  const secrets = localSecrets();
  const token = given ?? secrets.HOLDFAST_ADMIN_TOKEN ?? "";
  await freePort(String(port)); // a build is long enough for somebody else to take it
  // A DSN of one's own wins; the mock is for whoever has none.
  const mock =
    process.env.SENTRY_DSN || secrets.SENTRY_DSN
      ? undefined
      : startSentryMock(await nextPort(port), state);
  const dsn = process.env.SENTRY_DSN || mock?.dsn;
  const server = await startWrangler(port, state, given, dsn ? [`SENTRY_DSN:${dsn}`] : []);
  const asked = askedToEnd();

  const url = `http://${HOST}:${port}`;
  const ready = await Promise.race([isHealthy(url), server.ended.then(() => false)]);
  if (!ready) {
    await Promise.all([server.stop(), mock?.stop()]);
    throw new Refusal(`wrangler dev does not answer on ${url}:\n${server.said()}`);
  }
  server.show();
  console.log(welcome(url, token, (Date.now() - began) / 1000, mock?.page));
  const stopCron = fireCron(url);
  const why = await Promise.race([asked, server.ended.then(() => "ended")]);
  stopCron();
  await Promise.all([server.stop(), mock?.stop()]);
  if (why === "ended") throw new Refusal("wrangler dev has ended by itself.");
  process.exit(0);
});

/**
 * The port to use, proved to be free.
 *
 * @param {string} [wanted]
 * @returns {Promise<number>}
 */
async function freePort(wanted = String(DEFAULT_PORT)) {
  const port = Number(wanted);
  if (!/^\d+$/.test(wanted) || port > 65_535) {
    throw new Refusal(`--port takes a number from 0 to 65535, not ${wanted}.\n${USAGE}`);
  }
  const got = await listen(port);
  if (typeof got === "number") return got;
  if (got === "EACCES") {
    throw new Refusal(
      `Port ${port} may not be used by an ordinary user. Choose one from 1024 up:\n` +
        `    npm start -- --port ${DEFAULT_PORT}`,
    );
  }
  const other = await listen(0);
  throw new Refusal(
    `Port ${port} is taken: another program, perhaps another Holdfast, answers there. ` +
      `Choose another:\n    npm start -- --port ${other}`,
  );
}

/**
 * The port after this one, or any free one where that is taken.
 *
 * @param {number} port
 * @returns {Promise<number>}
 */
async function nextPort(port) {
  const next = port < 65_535 ? await listen(port + 1) : "";
  return typeof next === "number" ? next : Number(await listen(0));
}

/**
 * @param {number} port
 * @returns {Promise<number | string>} the port it listened on, or the code of the error
 */
function listen(port) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once("error", (/** @type {NodeJS.ErrnoException} */ error) => resolve(error.code ?? ""));
    probe.listen({ host: HOST, port, exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : port));
    });
  });
}

/**
 * The admin token of the environment, which wins over the one in .dev.vars.
 *
 * @returns {string | undefined}
 */
function tokenOfEnvironment() {
  const token = process.env.HOLDFAST_ADMIN_TOKEN;
  if (!token) return undefined;
  // What RFC 6750 lets a bearer token have; nothing of it needs an escape in a file of variables.
  // The length is what src/config.rs asks for.
  if (/^[\w.~+/-]+=*$/.test(token) && token.length >= 16) return token;
  throw new Refusal(
    "HOLDFAST_ADMIN_TOKEN of the environment does not serve as a bearer token: it needs 16 " +
      "characters or more, letters, digits and - . _ ~ + / with = at the end only.",
  );
}

/**
 * @param {number} port
 * @param {string} state
 * @param {string | undefined} token that wins over the one in .dev.vars
 * @param {string[]} vars `NAME:value`
 */
async function startWrangler(port, state, token, vars) {
  const [node = "", ...wrangler] = WRANGLER;
  /** @type {string[]} */
  const files = [];
  if (token !== undefined) {
    // In a file, since everybody on the machine can read the arguments of a program.
    const file = path.join(ROOT, ".holdfast", "environment.vars");
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.rmSync(file, { force: true });
    fs.writeFileSync(file, `HOLDFAST_ADMIN_TOKEN=${token}\n`, { mode: 0o600 });
    files.push("--env-file", path.join(ROOT, ".dev.vars"), "--env-file", file);
  }
  const commit = await run("git", ["rev-parse", "HEAD"]);
  const server = serve(
    node,
    [
      ...wrangler,
      ...["dev", "--ip", HOST, "--port", String(port), "--inspector-port", "0"],
      ...["--persist-to", state, "--show-interactive-dev-session=false"],
      ...["--var", "HOLDFAST_ALLOWED_ORIGINS:loopback"],
      ...(commit.ok ? ["--var", `COMMIT_SHA:${commit.text.trim()}`] : []),
      ...vars.flatMap((one) => ["--var", one]),
      ...files,
    ],
    { env: wranglerEnv({ HOLDFAST_BUILD: "fast" }) },
  );
  let shown = false;
  let text = "";
  for (const [stream, out] of /** @type {const} */ ([
    [server.child.stdout, process.stdout],
    [server.child.stderr, process.stderr],
  ])) {
    stream.setEncoding("utf8").on("data", (chunk) => {
      if (shown) out.write(chunk);
      else text += chunk;
    });
  }
  return {
    ...server,
    /** What it has said so far. */
    said: () => text,
    /** From here on what it says is seen: the worker's console is in it. */
    show() {
      shown = true;
      text = "";
    },
  };
}

/** @returns {Promise<string>} what asks us to end: a signal, or the end of the npm that started us */
function askedToEnd() {
  return new Promise((resolve) => {
    const starter = process.ppid;
    if (process.env.npm_lifecycle_event === "start") {
      setInterval(() => {
        if (process.ppid !== starter) resolve("npm has ended");
      }, 500);
    }
    for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
      process.removeAllListeners(name);
      process.on(name, () => resolve(name));
    }
  });
}

/**
 * Whether the worker answers in the end.
 *
 * @param {string} url
 * @returns {Promise<boolean>}
 */
async function isHealthy(url) {
  const end = Date.now() + READY_MS;
  while (Date.now() < end) {
    try {
      const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) });
      if (answer.ok) return true;
    } catch {
      // Nobody listens there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

/**
 * Fires the cron trigger at once, which revives the workflows of an earlier process, and then once a
 * minute. Its failure is said once, and so is its recovery. It answers when all that it began has
 * ended, which for a service is minutes later: nobody waits for it, and nothing hangs up on it, for a
 * hang-up would end what it began.
 *
 * @param {string} url
 * @returns {() => void} ends it
 */
function fireCron(url) {
  let trouble = "";
  let stopped = false;
  const fire = () => {
    /** @param {string} found */
    const tell = (found) => {
      if (found !== trouble && !stopped) {
        console.log(
          found === ""
            ? "The cron trigger works again."
            : `The cron trigger failed, and is fired again every minute: ${found}`,
        );
      }
      trouble = found;
    };
    // Not `fetch`, which gives up on an answer after five minutes.
    const request = http.request(url + CRON, { method: "POST", agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      answer.on("end", () => tell(answer.statusCode === 200 ? "" : `${answer.statusCode} ${text}`));
    });
    request.on("error", (error) => tell(error.message));
    request.on("socket", (socket) => socket.unref());
    request.end();
  };
  fire();
  const interval = setInterval(fire, CRON_MS);
  return () => {
    stopped = true;
    clearInterval(interval);
  };
}

/**
 * @param {string} url
 * @param {string} token
 * @param {number} seconds
 * @param {string} [mocks] the page of the Sentry mock
 */
function welcome(url, token, seconds, mocks) {
  const configuration = {
    mcpServers: {
      holdfast: {
        type: "http",
        url: `${url}/mcp`,
        headers: { Authorization: `Bearer ${token}` },
      },
    },
  };
  return `
Holdfast answers on ${url} (after ${seconds.toFixed(1)} s). Ctrl-C ends it.
${mocks === undefined ? "" : `Errors of its own arrive at the stand-in for Sentry: ${mocks}\n`}
Pages, for people: sign in with the token
  ${url}

Admin token
  ${token}

A program to try
  curl -s ${url}/v1/runs \\
    -H 'Authorization: Bearer ${token}' \\
    -H 'Content-Type: application/json' \\
    -d '{"code": "return 6 * 7"}'

Configuration of an MCP client
${JSON.stringify(configuration, undefined, 2).replaceAll(/^/gm, "  ")}
`;
}
