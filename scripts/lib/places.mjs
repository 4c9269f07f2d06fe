// Where things are: in the checkout, and in the user's cache outside it.
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The top of the checkout. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Commands of the node modules. */
export const NODE_BIN = path.join(ROOT, "node_modules", ".bin");

/** What the build makes and the worker's entry imports. */
export const BUILD = path.join(ROOT, "build");

/** Where `npm start` keeps the embedded D1, unless `--state` says otherwise. */
export const STATE = path.join(ROOT, ".holdfast", "state");

/**
 * The user's cache folder: what is kept there outlives a checkout and is shared by all of them.
 *
 * @returns {string}
 */
export function cacheDir() {
  const { HOLDFAST_CACHE, XDG_CACHE_HOME } = process.env;
  if (HOLDFAST_CACHE) return path.resolve(HOLDFAST_CACHE);
  if (XDG_CACHE_HOME && path.isAbsolute(XDG_CACHE_HOME)) {
    return path.join(XDG_CACHE_HOME, "holdfast");
  }
  if (process.platform === "darwin") return path.join(os.homedir(), "Library/Caches/holdfast");
  return path.join(os.homedir(), ".cache", "holdfast");
}

/**
 * PATH for what we start: the node modules' commands first (their `node` is the pinned one), and
 * cargo's folder last, for a shell that has not read rustup's profile yet.
 *
 * @returns {string}
 */
export function searchPath() {
  const cargo = path.join(process.env.CARGO_HOME ?? path.join(os.homedir(), ".cargo"), "bin");
  return [NODE_BIN, process.env.PATH ?? "", cargo].join(path.delimiter);
}
