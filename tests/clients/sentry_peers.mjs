// Sentry's own clients, and servers like Sentry's, for tests: installed once into the user's
// cache, each version in a folder of its own, and never a dependency of ours. A test asks here
// and skips itself with the reason that it is given, where one cannot be had:
//
//   const js = await javascriptClients();
//   test("…", { skip: js.missing }, async () => { … js.path … });
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { run } from "../../scripts/lib/command.mjs";
import { withLock } from "../../scripts/lib/lock.mjs";
import { cacheDir } from "../../scripts/lib/places.mjs";

/** @typedef {{ path: string, missing: undefined } | { path: undefined, missing: string }} Peer */

const INSTALL_MS = 300_000;

const JAVASCRIPT = {
  "@sentry/browser": "11.12.0",
  "@sentry/cloudflare": "11.0.0",
  "@sentry/node": "11.12.0",
  "playwright-core": "1.65.1",
};

/**
 * A folder whose node_modules has the SDKs for JavaScript and playwright-core.
 *
 * @returns {Promise<Peer>}
 */
export function javascriptClients() {
  return installed("npm", JAVASCRIPT, async (folder) => {
    const packages = Object.entries(JAVASCRIPT).map(([name, version]) => `${name}@${version}`);
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true }));
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
    return run("npm", ["install", ...flags, ...packages], { cwd: folder, timeoutMs: INSTALL_MS });
  });
}

/**
 * A Python that has packages.
 *
 * @param {Record<string, string>} more names and versions
 * @returns {Promise<Peer>}
 */
async function pythonWith(more) {
  const venv = await installed("python", more, async (folder) => {
    const made = await run("python3", ["-m", "venv", folder], { timeoutMs: INSTALL_MS });
    if (!made.ok) return made;
    const packages = Object.entries(more).map(([name, version]) => `${name}==${version}`);
    const python = path.join(folder, "bin", "python");
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    return run(python, [...pip, ...packages], { timeoutMs: INSTALL_MS });
  });
  return venv.path === undefined ? venv : { ...venv, path: path.join(venv.path, "bin", "python") };
}

/** sentry-sdk, which sends gzip. */
export const pythonClient = () => pythonWith({ "sentry-sdk": "2.75.0" });

/** sentry-sdk beside brotli, which it then uses. */
export const pythonClientWithBrotli = () => pythonWith({ "sentry-sdk": "2.75.0", brotli: "1.2.0" });

/** sentry-cli, beside a Python: the command stands in the same folder. */
export const commandLine = () => pythonWith({ "sentry-cli": "3.8.2" });

/** Relay's event normaliser. */
export const normaliser = () => pythonWith({ "sentry-relay": "0.10.1" });

/** A server like Sentry's, to be run and nothing else. */
export const bugsink = () => pythonWith({ bugsink: "2.6.2" });

/**
 * Imports a package of {@link javascriptClients}.
 *
 * @param {string} folder
 * @param {string} name
 * @returns {Promise<any>}
 */
export function peer(folder, name) {
  const require = createRequire(path.join(folder, "package.json"));
  return import(pathToFileURL(require.resolve(name)).href);
}

/**
 * @param {string} kind
 * @param {Record<string, string>} packages
 * @param {(folder: string) => Promise<{ ok: boolean, text: string }>} install
 * @returns {Promise<Peer>}
 */
async function installed(kind, packages, install) {
  const name = Object.entries(packages)
    .map(([one, version]) => `${one.replace(/^@/, "").replaceAll("/", "-")}-${version}`)
    .join("_");
  const folder = path.join(cacheDir(), "sentry-peers", kind, name);
  const whole = path.join(folder, ".whole");
  return withLock(`sentry-peers-${kind}-${name}`, async () => {
    if (!fs.existsSync(whole)) {
      // A virtual environment knows its own path, so it is made in place and marked when whole.
      fs.rmSync(folder, { recursive: true, force: true });
      fs.mkdirSync(folder, { recursive: true });
      const done = await install(folder);
      if (!done.ok) {
        const said = done.text.split("\n").find((line) => /error/i.test(line)) ?? done.text.trim();
        return { path: undefined, missing: `${name} cannot be installed: ${said}` };
      }
      fs.writeFileSync(whole, "");
    }
    return { path: folder, missing: undefined };
  });
}
