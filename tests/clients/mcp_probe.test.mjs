// The endpoint gives the right answer to each of the probe's raw requests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { childEnv, run } from "../../scripts/lib/command.mjs";
import { serverOf } from "./server.mjs";

const PROBE = fileURLToPath(new URL("mcp-probe.py", import.meta.url));
const TIMEOUT_MS = 120_000;

/** What may be skipped, for what is not offered. */
const NOT_OFFERED = ["modern: tasks/get, unknown task"];

// The probe needs nothing but a Python.
const python = await run("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]);
const skip = !python.ok && "Python 3.9 or later is missing";

test("the endpoint gives the right answer to every raw request", { skip }, async (t) => {
  const { mcp, token } = await serverOf(t);
  const said = await run("python3", [PROBE, mcp.href, "--token", "-", "--host-check"], {
    env: childEnv({ MCP_TOKEN: token }),
    timeoutMs: TIMEOUT_MS,
  });
  const lines = said.text.trim().split("\n");
  const wrong = lines.filter((line) => line.startsWith("FAIL"));
  assert.deepEqual(wrong, []);
  const skipped = lines
    .filter((line) => line.startsWith("skip"))
    .map((line) => line.slice("skip".length).split("expected:")[0]?.trim());
  assert.deepEqual(skipped, NOT_OFFERED);
  assert.ok(said.ok, said.text);
  assert.match(lines.at(-1) ?? "", /^113 cases: 112 ok, 0 FAIL, 1 skip$/);
});
