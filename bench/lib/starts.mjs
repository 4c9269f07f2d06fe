// The first request after a start: Wasm is made an instance of, and configuration read. Holdfast
// answers it without D1 (a request with no token); the measure is an empty worker in Rust, built the
// same way.
import fs from "node:fs";
import path from "node:path";
import { start } from "../../tests/worker/harness.mjs";
import { Refusal, childEnv, run } from "../../scripts/lib/command.mjs";
import { NODE_BIN, ROOT } from "../../scripts/lib/places.mjs";
import { setUp } from "../../scripts/setup.mjs";
import { median } from "./statistics.mjs";

const ROUNDS = 7;
const EMPTY = path.join(ROOT, "bench/empty");

/** A first build on a busy machine. */
const BUILD_MS = 20 * 60_000;

/** @returns {Promise<{ holdfastMs: number, emptyMs: number, rounds: number }>} medians */
export async function firstRequests() {
  await buildEmpty();
  const holdfast = [];
  const empty = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const worker = await start({
      neighbours: [{ name: "empty", main: "bench/empty/build/index.js" }],
    });
    try {
      const first = async (/** @type {string} */ url, /** @type {number} */ status) => {
        const from = performance.now();
        const answer = await fetch(url);
        await answer.arrayBuffer();
        if (answer.status !== status) throw new Error(`${url}: ${answer.status}`);
        return performance.now() - from;
      };
      const ours = () => first(`${worker.url}/v1/runs`, 401);
      const theirs = () => first(`${worker.neighbours.empty}/`, 200);
      if (round % 2 === 0) {
        holdfast.push(await ours());
        empty.push(await theirs());
      } else {
        empty.push(await theirs());
        holdfast.push(await ours());
      }
    } finally {
      await worker.stop();
    }
  }
  return { holdfastMs: median(holdfast), emptyMs: median(empty), rounds: ROUNDS };
}

/** With the profile and the tools of Holdfast's own build; kept from then on. */
async function buildEmpty() {
  if (fs.existsSync(path.join(EMPTY, "build/index_bg.wasm"))) return;
  const tools = await setUp();
  const built = await run(tools.workerBuild, ["--release"], {
    cwd: EMPTY,
    timeoutMs: BUILD_MS,
    env: childEnv({
      CARGO_TARGET_DIR: path.join(ROOT, "target"),
      ESBUILD_BIN: path.join(NODE_BIN, "esbuild"),
      WASM_BINDGEN_BIN: tools.wasmBindgen,
      WASM_OPT_BIN: path.join(NODE_BIN, "wasm-opt"),
    }),
  });
  if (!built.ok) throw new Refusal(`The empty worker could not be built:\n${built.text}`);
}
