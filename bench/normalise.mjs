// What peers make of a program before they run it, beside `code::prepare` (`cargo bench --bench code`):
// codemode's normalisation, which parses with acorn, and Babel's parser, which others build on.
//
//   node bench/normalise.mjs [--json]
import fs from "node:fs";
import { parse } from "@babel/parser";
import { build, transformSync } from "esbuild";
import { median } from "./lib/statistics.mjs";

const ROUNDS = 40;
const COPIES = 60;

const one = fs.readFileSync(new URL("programs/ordinary.ts", import.meta.url), "utf8");
const types = `{${one}}\n`.repeat(COPIES);
// acorn knows no types: it is given what is left without them.
const erased = transformSync(`async () => {${types}}`, { loader: "ts" }).code;

const normalizeCode = await theirs();

const contenders = {
  "codemode's normalisation (acorn), types erased before": {
    text: erased,
    work: () => normalizeCode(erased),
  },
  "@babel/parser, with types": {
    text: types,
    work: () =>
      parse(types, {
        sourceType: "module",
        allowAwaitOutsideFunction: true,
        plugins: ["typescript"],
      }),
  },
};

/** Their package wants a worker around it, which its normalisation does not use. */
async function theirs() {
  const { outputFiles } = await build({
    stdin: {
      contents: 'export { normalizeCode } from "@cloudflare/codemode";',
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
    logLevel: "silent",
    plugins: [
      {
        name: "no worker",
        setup(esbuild) {
          esbuild.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({
            path,
            namespace: "none",
          }));
          esbuild.onLoad({ filter: /.*/, namespace: "none" }, () => ({
            contents:
              "class None {} export { None as DurableObject, None as RpcTarget, None as WorkerEntrypoint }; export const env = {}, exports = {};",
          }));
        },
      },
    ],
  });
  const text = Buffer.from(outputFiles[0]?.text ?? "").toString("base64");
  /** @type {(code: string) => string} */
  const normalise = (await import(`data:text/javascript;base64,${text}`)).normalizeCode;
  return normalise;
}

const figures = Object.entries(contenders).map(([name, { text, work }]) => {
  const bytes = Buffer.byteLength(text);
  const times = Array.from({ length: ROUNDS }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  });
  return { name, bytes, medianMs: median(times), megabytesASecond: bytes / 1_000 / median(times) };
});

if (process.argv.includes("--json")) console.log(JSON.stringify(figures, null, 2));
else {
  for (const { name, bytes, medianMs, megabytesASecond } of figures) {
    console.log(
      `${name.padEnd(56)}${String(bytes).padStart(8)} bytes${medianMs.toFixed(1).padStart(8)} ms${megabytesASecond.toFixed(1).padStart(8)} MB/s`,
    );
  }
}
