// Sends the same with @sentry/cloudflare; bundled into a worker of its own.
import { captureException, captureMessage, flush, withSentry } from "@sentry/cloudflare";

export default withSentry(
  () => ({ dsn: globalThis.DSN, tunnel: globalThis.TUNNEL, release: "client" }),
  {
    async fetch() {
      captureException(new Error("D1 write failed"));
      captureException(new Error(globalThis.TIMEOUT));
      captureMessage(globalThis.TIMEOUT);
      captureException(new Error("the sweep failed", { cause: new Error(globalThis.TIMEOUT) }));
      return Response.json(await flush(10_000));
    },
  },
);
