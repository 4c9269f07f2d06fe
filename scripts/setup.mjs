// The set-up: everything that a build or a test needs, installed where it is missing.
//
//   node scripts/setup.mjs [--python]     --python: the Python client of the tests as well
//
// `npm start`, `npm test` and `npm run build` call it first. Runs on Node 20 without a single
// node module. When nothing is missing it reaches no network and takes well under a second.
import fs from "node:fs";
import path from "node:path";
import { Refusal, childEnv, options, run, script } from "./lib/command.mjs";
import { withLock } from "./lib/lock.mjs";
import { installSchemaSuite } from "./lib/needs.mjs";
import { NODE_BIN, ROOT, cacheDir } from "./lib/places.mjs";
import {
  CARGO_TOOLS,
  NODE,
  NODE_FOR_SETUP_MAJOR,
  RUST,
  RUST_COMPONENTS,
  WASM_TARGET,
} from "./versions.mjs";

/** Cargo's settings for host tools that run for a second: half the time to build them. */
const QUICK_TO_BUILD = { CARGO_PROFILE_RELEASE_OPT_LEVEL: "0", CARGO_PROFILE_RELEASE_LTO: "off" };

/**
 * Installs what is missing.
 *
 * @returns {Promise<{wasmBindgen: string, workerBuild: string}>} paths of the build tools
 */
export async function setUp() {
  refuseOldNode();
  await installNodeModules();
  await requireCompilers();
  await installToolchain();
  return {
    wasmBindgen: await installCargoTool("wasm-bindgen"),
    workerBuild: await installCargoTool("worker-build"),
  };
}

function refuseOldNode() {
  const major = Number.parseInt(process.versions.node, 10);
  if (major >= NODE_FOR_SETUP_MAJOR) return;
  throw new Refusal(
    `Node ${process.versions.node} is too old: ${NODE_FOR_SETUP_MAJOR} or later is needed.\n` +
      "Get it from https://nodejs.org/en/download, or with your version manager (nvm install 22).",
  );
}

/** Installs the node modules when they are not the ones of the lock file. */
export async function installNodeModules() {
  if (haveNodeModules()) return;
  await withLock(`npm-${ROOT.replaceAll(/[^a-zA-Z0-9]/g, "-")}`, async () => {
    if (haveNodeModules()) return;
    console.log("Installing the node modules…");
    // Not through our own node_modules/.bin: npm is about to delete it.
    const PATH = (process.env.PATH ?? "")
      .split(path.delimiter)
      .filter((folder) => path.resolve(folder) !== NODE_BIN)
      .join(path.delimiter);
    const npm = await run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund"], {
      env: childEnv({ PATH }),
    });
    if (npm.missing) {
      throw new Refusal("npm is missing. It comes with Node: https://nodejs.org/en/download");
    }
    if (!npm.ok) throw new Refusal(`npm ci failed:\n${npm.text}`);
    const node = await run(path.join(NODE_BIN, "node"), ["--version"]);
    if (node.text.trim() !== `v${NODE}`) {
      throw new Refusal(
        `node_modules/.bin/node is not Node ${NODE}: ${node.text.trim()}\n` +
          "Its binary comes by an install script. If npm is told to run none, allow them " +
          "(npm config set ignore-scripts false), delete node_modules and try again.",
      );
    }
  });
}

/**
 * Whether node_modules holds what the lock file names. npm writes what it installed into a lock
 * file of the same form in there, last of all.
 */
function haveNodeModules() {
  const wanted = readPackages(path.join(ROOT, "package-lock.json"));
  const installed = readPackages(path.join(ROOT, "node_modules", ".package-lock.json"));
  if (wanted === undefined) throw new Refusal("package-lock.json cannot be read.");
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([name, { version, optional }]) => {
    if (name === "") return true;
    const there = installed[name]?.version;
    return there === version || (there === undefined && optional === true);
  });
}

/**
 * @param {string} file
 * @returns {Record<string, {version?: string, optional?: boolean}> | undefined}
 */
function readPackages(file) {
  if (!fs.existsSync(file)) return undefined;
  return JSON.parse(fs.readFileSync(file, "utf8")).packages;
}

/** What no package registry has: rustup, and a linker for what cargo builds for this machine. */
async function requireCompilers() {
  /** @type {string[]} */
  const missing = [];
  // rustup's proxies would install the toolchain by the way, and say nothing meanwhile.
  const env = childEnv({ RUSTUP_AUTO_INSTALL: "0" });
  const [rustup, cargo, cc] = await Promise.all([
    run("rustup", ["--version"], { env }),
    run("cargo", ["--version"], { env }),
    run(process.env.CC ?? "cc", ["--version"]),
  ]);
  if (rustup.missing || (cargo.missing && !rustup.ok)) {
    missing.push(
      "rustup, which installs Rust. Get it:\n" +
        "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh\n" +
        "  or from https://rustup.rs; then open a new terminal.",
    );
  } else if (cargo.missing) {
    missing.push("cargo, though rustup is there. Get it: rustup default stable");
  }
  if (cc.missing) {
    missing.push(
      "a C compiler (cc), with which Rust links what it builds for this machine. Get it:\n" +
        "    Debian, Ubuntu   sudo apt-get install build-essential\n" +
        "    Fedora           sudo dnf install gcc\n" +
        "    Alpine           sudo apk add build-base\n" +
        "    macOS            xcode-select --install",
    );
  }
  if (missing.length > 0) throw new Refusal(`Missing:\n- ${missing.join("\n- ")}`);
}

/** Installs the pinned Rust; asks rustup's server only when a part of it is missing. */
async function installToolchain() {
  const lacking = await lackingOfToolchain();
  if (lacking.length === 0) return;
  console.log(`Installing Rust ${RUST} (${lacking.join(", ")})…`);
  const installed = await run("rustup", [
    ...["toolchain", "install", RUST, "--profile", "minimal", "--no-self-update"],
    ...RUST_COMPONENTS.flatMap((name) => ["--component", name]),
    ...["--target", WASM_TARGET],
  ]);
  const still = await lackingOfToolchain();
  if (still.length > 0) {
    throw new Refusal(
      `Rust ${RUST} lacks ${still.join(", ")}, and rustup could not install it:\n${installed.text}`,
    );
  }
}

/** @returns {Promise<string[]>} */
async function lackingOfToolchain() {
  const listed = await run("rustup", ["component", "list", "--installed", "--toolchain", RUST]);
  const have = listed.ok ? listed.text.split("\n") : [];
  return ["rustc", "cargo", ...RUST_COMPONENTS, `rust-std-${WASM_TARGET}`].filter(
    (name) => !have.some((line) => line === name || line.startsWith(`${name}-`)),
  );
}

/**
 * Builds a host tool into the user's cache, in a folder named by its version.
 *
 * @param {keyof typeof CARGO_TOOLS} name
 * @returns {Promise<string>} the path of its program
 */
async function installCargoTool(name) {
  const { crate, version } = CARGO_TOOLS[name];
  const folder = path.join(cacheDir(), "tools", `${name}-${version}`);
  const program = path.join(folder, "bin", name);
  if (await isTool(program, version)) return program;
  return withLock(`${name}-${version}`, async () => {
    if (await isTool(program, version)) return program;
    console.log(`Building ${crate} ${version} into ${folder} (a few minutes, once)…`);
    const made = `${folder}.${process.pid}.part`;
    fs.rmSync(made, { recursive: true, force: true });
    fs.mkdirSync(made, { recursive: true });
    try {
      const built = await run(
        "cargo",
        ["install", crate, "--version", version, "--locked", "--root", made],
        { env: childEnv({ ...QUICK_TO_BUILD, CARGO_TARGET_DIR: path.join(made, "target") }) },
      );
      if (!built.ok) throw new Refusal(`cargo install ${crate} failed:\n${built.text}`);
      fs.rmSync(path.join(made, "target"), { recursive: true, force: true });
      // What is there does not run: left by another machine, or half deleted.
      fs.rmSync(folder, { recursive: true, force: true });
      fs.renameSync(made, folder);
    } finally {
      fs.rmSync(made, { recursive: true, force: true });
    }
    if (!(await isTool(program, version))) {
      throw new Refusal(`${program} was built and does not say that it is ${version}.`);
    }
    return program;
  });
}

/**
 * @param {string} program
 * @param {string} version
 */
async function isTool(program, version) {
  const said = await run(program, ["--version"]);
  return said.ok && said.text.trim().split(/\s+/).includes(version);
}

await script(import.meta.url, async () => {
  const { values } = options({ python: { type: "boolean" } });
  await setUp();
  if (values.python) await installSchemaSuite();
  console.log("Everything is there.");
});
