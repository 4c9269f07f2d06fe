// The server that the clients talk to: the worker in workerd or, with HOLDFAST_URL (and
// HOLDFAST_ADMIN_TOKEN), one that is up already.
//
//   const server = await serverOf(t);   // it ends with the test
//   connect(server.mcp, server.token);
//
// HOLDFAST_STAND_IN=1 says that HOLDFAST_URL is `cargo run --example mcp_server`, which speaks the
// protocol and has no sandbox: tests of the whole way are then skipped, with that reason.

/** Whether the server only speaks the protocol. */
export const isStandIn = process.env.HOLDFAST_STAND_IN === "1";

/** Why a test of the whole way is skipped; `false` when it is not. */
export const noSandbox = isStandIn && "the stand-in of examples/mcp_server.rs runs no programs";

/**
 * @param {import("node:test").TestContext} t
 * @returns {Promise<{url: string, mcp: URL, token: string}>}
 */
export async function serverOf(t) {
  const given = process.env.HOLDFAST_URL;
  if (given !== undefined) {
    return {
      url: given,
      mcp: new URL("/mcp", given),
      token: process.env.HOLDFAST_ADMIN_TOKEN ?? "",
    };
  }
  const { ADMIN_TOKEN, start } = await import("../worker/harness.mjs");
  const worker = await start();
  t.after(() => worker.stop());
  return { url: worker.url, mcp: new URL("/mcp", worker.url), token: ADMIN_TOKEN };
}
