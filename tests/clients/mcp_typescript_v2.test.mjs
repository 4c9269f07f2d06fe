// The TypeScript SDK 2 lists the tools and runs programs in both eras, and finds the modern one
// when it may choose.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { exercise } from "./mcp_exercise.mjs";
import { serverOf } from "./server.mjs";

/** @typedef {NonNullable<ConstructorParameters<typeof Client>[1]>["versionNegotiation"]} Negotiation */

/** @type {{mode: NonNullable<Negotiation>["mode"], era: string, version: string}[]} */
const MODES = [
  { mode: "legacy", era: "legacy", version: "2025-11-25" },
  { mode: "auto", era: "modern", version: "2026-07-28" },
  { mode: { pin: "2026-07-28" }, era: "modern", version: "2026-07-28" },
];

for (const { mode, era, version } of MODES) {
  test(`the TypeScript SDK 2 lists the tools and runs programs, ${JSON.stringify(mode)}`, async (t) => {
    const { mcp, token } = await serverOf(t);
    const client = new Client(
      { name: "holdfast-tests", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(mcp, { requestInit }));
    t.after(() => client.close());
    assert.equal(client.getProtocolEra(), era);
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    await exercise({
      listTools: () => client.listTools(),
      callTool: (name, args) => client.callTool({ name, arguments: args }),
    });
  });
}
