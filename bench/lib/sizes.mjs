// What is deployed, in bytes.
import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT } from "../../scripts/lib/places.mjs";

/** @returns {{ name: string, bytes: number, gzip: number }[]} */
export function sizes() {
  return ["index_bg.wasm", "index.js"].map((name) => {
    const content = fs.readFileSync(path.join(ROOT, "build", name));
    return { name, bytes: content.length, gzip: gzipSync(content, { level: 9 }).length };
  });
}
