// The build: Rust to the Wasm and the JavaScript in build/, which the worker's entry imports.
//
//   node scripts/build.mjs [--fast] [--force]
//
// --fast leaves wasm-opt out: seconds instead of half a minute, for `npm start` and tests.
// HOLDFAST_BUILD=fast says the same where no option can be given (wrangler's [build] command).
// A build whose inputs have not changed is kept; an optimised one serves as a fast one.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { Refusal, childEnv, options, run, script } from "./lib/command.mjs";
import { compiledEagerly } from "./lib/eager.mjs";
import { BUILD, NODE_BIN, ROOT } from "./lib/places.mjs";
import { setUp } from "./setup.mjs";

/**
 * The most that the optimised Wasm may have, gzipped. Running programs took 498 KB, a good third of
 * it the parser; reporting and the tunnel 37 KB; packages with their schemas, and the ledger, 114 KB;
 * policies, approvals and the journal 72 KB; sources of every kind, secrets, services, schedules,
 * workflows and the pages 630 KB. docs/architecture.md says why it is over the megabyte that was
 * meant. The free plan takes 3 MB, and every byte is start-up time: it may not grow.
 */
export const CEILING_BYTES = 1_360_000;

/** sha2 hashes tokens and keys, a few bytes each: its small form is 6 KB less Wasm. */
const SMALL_SHA2 = `--cfg sha2_backend="soft" --cfg sha2_backend_soft="compact"`;

/** What the build is made from. */
const INPUTS = [
  "src",
  "migrations",
  ".cargo",
  "build.rs",
  "docs/use",
  "Cargo.toml",
  "Cargo.lock",
  "rust-toolchain.toml",
  "scripts/build.mjs",
  "scripts/lib/eager.mjs",
  "scripts/versions.mjs",
];

/** Says what a build was made from; worker-build replaces the folder, and this with it. */
const STAMP = path.join(BUILD, "holdfast.json");

/** @typedef {{inputs: string, optimised: boolean, wasmBytes: number, gzipBytes: number}} Stamp */

/**
 * Makes build/ what the sources say.
 *
 * @param {{fast?: boolean, force?: boolean}} [options]
 * @returns {Promise<Stamp>}
 */
export async function build({ fast = false, force = false } = {}) {
  const tools = await setUp();
  const inputs = inputsHash();
  const kept = readStamp();
  if (!force && kept?.inputs === inputs && (kept.optimised || fast)) {
    report(kept, "nothing has changed");
    return kept;
  }
  console.log(fast ? "Building…" : "Building, optimised…");
  const began = Date.now();
  const harness = await bundleHarness();
  const built = await run(tools.workerBuild, ["--release", ...(fast ? ["--no-opt"] : [])], {
    show: true,
    env: childEnv({
      ESBUILD_BIN: tool("esbuild"),
      WASM_BINDGEN_BIN: tools.wasmBindgen,
      WASM_OPT_BIN: tool("wasm-opt"),
      HOLDFAST_HARNESS: harness,
      RUSTFLAGS: SMALL_SHA2,
    }),
  });
  if (!built.ok) throw new Refusal("The build failed; the compiler's words are above.");
  await declare();
  const file = path.join(BUILD, "index_bg.wasm");
  if (!fast) fs.writeFileSync(file, withoutNames(fs.readFileSync(file)));
  const wasm = fs.readFileSync(file);
  const stamp = {
    inputs,
    optimised: !fast,
    wasmBytes: wasm.length,
    gzipBytes: zlib.gzipSync(wasm, { level: 9 }).length,
  };
  fs.writeFileSync(STAMP, JSON.stringify(stamp));
  report(stamp, `${((Date.now() - began) / 1000).toFixed(1)} s`);
  return stamp;
}

/**
 * Makes one small module of the harness: a sub-worker starts sooner from it than from two dozen.
 *
 * @returns {Promise<string>} its file
 */
async function bundleHarness() {
  const { build: bundle } = await import("esbuild"); // not before the set-up
  const { outputFiles } = await bundle({
    entryPoints: [path.join(ROOT, "src/sandbox/harness/harness.js")],
    bundle: true,
    external: ["cloudflare:workers", "program.js"],
    format: "esm",
    legalComments: "none",
    minify: true,
    target: "es2024",
    write: false,
  });
  const text = await compiledEagerly(outputFiles[0]?.text ?? "");
  const file = path.join(ROOT, "target", "harness.js");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  // Written only when it differs: cargo goes by the time of the file.
  if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) fs.writeFileSync(file, text);
  return file;
}

/**
 * The Wasm without the names of its functions: an eighth of it, for stacks that nobody sees. A
 * panic says its file and line all the same. A fast build keeps them.
 *
 * @param {Uint8Array} wasm
 */
function withoutNames(wasm) {
  const kept = [wasm.subarray(0, 8)]; // magic and version
  for (let at = 8; at < wasm.length;) {
    const start = at;
    const id = wasm[at++];
    const size = length();
    const body = at;
    const name = id === 0 ? Buffer.from(wasm.subarray(body + 1, body + 5)).toString() : "";
    at = body + size;
    if (name !== "name") kept.push(wasm.subarray(start, at));

    function length() {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = wasm[at++] ?? 0;
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
      }
    }
  }
  return Buffer.concat(kept);
}

/**
 * Writes what build/index.js exports for the type check of the worker's entry. The exports are
 * checked, what they are is not: it is wasm-bindgen's business.
 */
async function declare() {
  const index = path.join(BUILD, "index.js");
  const { build: bundle } = await import("esbuild"); // not before the set-up
  const read = await bundle({ entryPoints: [index], metafile: true, outdir: ".", write: false });
  const names = Object.values(read.metafile.outputs).flatMap((output) => output.exports);
  const lines = names.map((name) =>
    name === "default" ? "export default rust;" : `export { rust as ${name} };`,
  );
  const text = ["declare const rust: any;", ...lines, ""].join("\n");
  fs.writeFileSync(path.join(BUILD, "index.d.ts"), text);
}

/**
 * Why build/ does not fit the sources, for who is about to use it; `undefined` when it does.
 *
 * @returns {string | undefined}
 */
export function staleness() {
  const stamp = readStamp();
  if (stamp === undefined) return "There is no build: run npm run build -- --fast";
  if (stamp.inputs !== inputsHash()) {
    return "The build is older than src: run npm run build -- --fast";
  }
  return undefined;
}

/**
 * A program of the node modules. worker-build answers one that is not there with a download.
 *
 * @param {string} name
 */
function tool(name) {
  const file = path.join(NODE_BIN, name);
  if (!fs.existsSync(file)) {
    throw new Refusal(`${file} is missing: delete node_modules and try again.`);
  }
  return file;
}

/** @returns {string} */
function inputsHash() {
  const hash = createHash("sha256");
  for (const input of INPUTS) {
    for (const file of filesIn(path.join(ROOT, input))) {
      hash
        .update(`${path.relative(ROOT, file)}\0`)
        .update(fs.readFileSync(file))
        .update("\0");
    }
  }
  return hash.digest("hex");
}

/**
 * The files of a folder and of its folders, sorted; a file is its own list.
 *
 * @param {string} place
 * @returns {string[]}
 */
function filesIn(place) {
  const kind = fs.statSync(place, { throwIfNoEntry: false });
  if (kind === undefined) return [];
  if (!kind.isDirectory()) return [place];
  return fs
    .readdirSync(place)
    .sort()
    .flatMap((name) => filesIn(path.join(place, name)));
}

/** @returns {Stamp | undefined} */
function readStamp() {
  try {
    return JSON.parse(fs.readFileSync(STAMP, "utf8"));
  } catch {
    return undefined; // none, or half written: it is built again
  }
}

/**
 * Prints the sizes, and refuses an optimised build that is too big.
 *
 * @param {Stamp} stamp
 * @param {string} note
 */
function report(stamp, note) {
  console.log(`${sizes(stamp)} (${note})`);
  if (isOverCeiling(stamp)) {
    throw new Refusal(
      `That is over the ceiling of ${kb(CEILING_BYTES)} gzipped. ` +
        "Which crate made it grow: cargo tree, and twiggy on build/index_bg.wasm.",
    );
  }
}

/** @param {Stamp} stamp */
function sizes({ optimised, wasmBytes, gzipBytes }) {
  const judged = optimised ? `ceiling ${kb(CEILING_BYTES)}` : "not optimised";
  return `Wasm ${kb(wasmBytes)}, gzip ${kb(gzipBytes)}, ${judged}`;
}

/**
 * Whether a build may not be shipped. What is not optimised is not shipped.
 *
 * @param {Pick<Stamp, "optimised" | "gzipBytes">} stamp
 */
export function isOverCeiling({ optimised, gzipBytes }) {
  return optimised && gzipBytes > CEILING_BYTES;
}

/** @param {number} bytes */
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

await script(import.meta.url, async () => {
  const { values } = options({ fast: { type: "boolean" }, force: { type: "boolean" } });
  const fast = values.fast ?? process.env.HOLDFAST_BUILD === "fast";
  await build({ fast, ...(values.force ? { force: true } : {}) });
});
