// Sends one error, one bare timeout and one wrapped one with @sentry/node through a tunnel.
// Arguments: folder of the SDK, DSN, tunnel, the timeout's text.
import { peer } from "../sentry_peers.mjs";

const [folder = "", dsn, tunnel, timeout] = process.argv.slice(2);
const { captureException, captureMessage, flush, init, linkedErrorsIntegration } = await peer(
  folder,
  "@sentry/node",
);
// Of the default integrations only what makes a chain of causes: the others patch this process.
const integrations = [linkedErrorsIntegration()];
init({ dsn, tunnel, defaultIntegrations: false, integrations, release: "client" });
captureException(new Error("D1 write failed"));
captureException(new Error(timeout));
captureMessage(timeout);
captureException(new Error("the sweep failed", { cause: new Error(timeout) }));
// Over 32 KiB, which the SDK then compresses.
captureException(new Error("large"), { extra: { blob: "x".repeat(100_000) } });
if (!(await flush(10_000))) process.exitCode = 1;
