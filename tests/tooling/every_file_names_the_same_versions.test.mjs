// Rule: a tool has one version, whichever file names it: scripts/versions.mjs decides.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parse } from "smol-toml";
import { ROOT } from "../../scripts/lib/places.mjs";
import * as versions from "../../scripts/versions.mjs";

const text = (/** @type {string} */ file) => fs.readFileSync(path.join(ROOT, file), "utf8");
const toml = (/** @type {string} */ file) => /** @type {any} */ (parse(text(file)));
const json = (/** @type {string} */ file) => JSON.parse(text(file));

test("Cargo.toml and Cargo.lock pin what the build tools expect", () => {
  const { dependencies, package: own } = toml("Cargo.toml");
  const wasmBindgen = versions.CARGO_TOOLS["wasm-bindgen"].version;
  const workerBuild = versions.CARGO_TOOLS["worker-build"].version;
  const pin = (/** @type {any} */ dependency) => dependency.version ?? dependency;
  assert.equal(pin(dependencies["wasm-bindgen"]), `=${wasmBindgen}`);
  assert.equal(pin(dependencies.worker), `=${workerBuild}`);
  assert.ok(versions.RUST.startsWith(`${own["rust-version"]}.`), own["rust-version"]);
  const locked = Object.fromEntries(
    toml("Cargo.lock").package.map((/** @type {any} */ { name, version }) => [name, version]),
  );
  assert.equal(locked["wasm-bindgen"], wasmBindgen);
  assert.equal(locked.worker, workerBuild);
});

test("rust-toolchain.toml asks for what the set-up installs", () => {
  const { toolchain } = toml("rust-toolchain.toml");
  assert.equal(toolchain.channel, versions.RUST);
  assert.deepEqual(toolchain.components, versions.RUST_COMPONENTS);
  assert.deepEqual(toolchain.targets, [versions.WASM_TARGET]);
});

test("package.json pins every module exactly, and those that must fit each other to ours", () => {
  const { devDependencies, dependencies } = json("package.json");
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${name} is not pinned: ${version}`);
  }
  for (const [name, version] of Object.entries(versions.NODE_MODULES)) {
    assert.equal(devDependencies[name], version, name);
  }
});

test("the types and the compatibility date are of the workerd that runs", () => {
  const [, date = ""] = /^1\.(\d{8})\./.exec(versions.NODE_MODULES.workerd) ?? [];
  const types = json("package.json").devDependencies["@cloudflare/workers-types"];
  assert.ok(types.includes(`.${date}.`), types);
  const compatibility = toml("wrangler.toml").compatibility_date.replaceAll("-", "");
  assert.ok(compatibility <= date, `workerd ${date} does not know ${compatibility}`);
});
