// Sends the same with @sentry/browser; bundled into a page of the worker's own origin.
import { captureException, captureMessage, flush, init } from "@sentry/browser";

/** @param {string} dsn @param {string} timeout */
globalThis.send = async (dsn, timeout) => {
  init({ dsn, tunnel: "/sentry-tunnel", release: "client" });
  captureException(new Error("D1 write failed"));
  captureException(new Error(timeout));
  captureMessage(timeout);
  captureException(new Error("the sweep failed", { cause: new Error(timeout) }));
  return flush(10_000);
};
