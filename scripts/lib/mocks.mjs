// The stand-ins for services that `npm start` brings along: today Sentry's, on the next port.
import path from "node:path";
import { serve } from "./command.mjs";
import { ROOT } from "./places.mjs";
import { WRANGLER, wranglerEnv } from "./wrangler.mjs";

const HOST = "127.0.0.1";

/**
 * Starts the Sentry mock. It answers after a few seconds; nobody has to wait for it.
 *
 * @param {number} port
 * @param {string} state folder of what it keeps
 */
export function startSentryMock(port, state) {
  const [node = "", ...wrangler] = WRANGLER;
  const server = serve(
    node,
    [
      ...wrangler,
      ...["dev", "--config", path.join(ROOT, "mocks", "sentry", "wrangler.toml")],
      ...["--ip", HOST, "--port", String(port), "--inspector-port", "0"],
      ...["--persist-to", path.join(state, "mocks"), "--show-interactive-dev-session=false"],
    ],
    { env: wranglerEnv() },
  );
  for (const stream of [server.child.stdout, server.child.stderr]) stream.resume();
  return {
    ...server,
    /** Where a person looks. */
    page: `http://${HOST}:${port}/__mocks`,
    /** What the worker is told. */
    dsn: `http://public@${HOST}:${port}/1`,
  };
}
