// The Python SDK lists the tools and runs programs, in both eras.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { childEnv, run } from "../../scripts/lib/command.mjs";
import { pythonWithMcp } from "../../scripts/lib/needs.mjs";
import { STORAGE_LOOP } from "./mcp_exercise.mjs";
import { isStandIn, serverOf } from "./server.mjs";

const CLIENT = fileURLToPath(new URL("mcp_python.py", import.meta.url));
const TIMEOUT_MS = 60_000;
const python = await pythonWithMcp();

for (const [mode, version] of [
  ["auto", "2026-07-28"],
  ["2026-07-28", "2026-07-28"],
  ["legacy", "2025-11-25"],
]) {
  test(
    `the Python SDK lists the tools and runs programs, ${mode}`,
    {
      skip: python.missing,
    },
    async (t) => {
      const { mcp, token } = await serverOf(t);
      const programs = isStandIn ? {} : { sum: STORAGE_LOOP };
      const said = await run(/** @type {string} */ (python.path), [CLIENT, mcp.href, `${mode}`], {
        env: childEnv({
          HOLDFAST_ADMIN_TOKEN: token,
          HOLDFAST_PROGRAMS: JSON.stringify(programs),
        }),
        timeoutMs: TIMEOUT_MS,
      });
      assert.ok(said.ok, said.text);
      const came = JSON.parse(said.text.trim().split("\n").at(-1) ?? "");
      assert.equal(came.version, version);
      assert.equal(came.server, mode === version ? null : "holdfast");
      assert.deepEqual(came.tools.slice(0, 3), ["execute", "run_get", "run_list"]);
      assert.deepEqual([came.one.isError, came.one.structured.result], [false, 1]);
      assert.deepEqual(JSON.parse(came.one.text), came.one.structured);
      assert.equal(came.boom.isError, true);
      assert.match(came.boom.text, /^Error: .*boom\n\nNext step: /);
      assert.equal(came.boom.structured.errorDetails.kind, "runtime_error");
      assert.equal(came.late.structured.result, "late");
      assert.equal(came.large.structured.result.length, 600_000);
      assert.match(came.wrong.text, /^Error: code: must not be empty/);
      assert.equal(came.gone.structured.errorDetails.kind, "not_found");
      assert.equal(came.unknown, -32602);
      if (!isStandIn) assert.equal(came.sum.structured.result, 15);
    },
  );
}
