// The versions that the tools are pinned to, in one place.
//
// Cargo.toml, rust-toolchain.toml and package.json have to say the same; a test compares them
// (tests/tooling/every_file_names_the_same_versions.test.mjs). To raise one, change it here and
// there, and read docs/architecture.md, "Dependencies", first.

/** Rust, as in rust-toolchain.toml. */
export const RUST = "1.95.0";

/** What the toolchain needs besides the compiler. */
export const RUST_COMPONENTS = ["rustfmt", "clippy"];

/** The target that the worker is compiled for. */
export const WASM_TARGET = "wasm32-unknown-unknown";

/**
 * Host tools that are built with `cargo install` into the user's cache. wasm-bindgen has to equal
 * the crate in Cargo.toml to the last digit, worker-build the crate `worker`.
 *
 * @type {Record<"wasm-bindgen" | "worker-build", {crate: string, version: string}>}
 */
export const CARGO_TOOLS = {
  "wasm-bindgen": { crate: "wasm-bindgen-cli", version: "0.2.129" },
  "worker-build": { crate: "worker-build", version: "0.8.7" },
};

/** The Node that runs wrangler and the tests; it comes with the node modules. */
export const NODE = "22.23.3";

/** The oldest Node that can run the set-up itself. */
export const NODE_FOR_SETUP_MAJOR = 20;

/** node modules whose versions have to fit each other; package.json pins them, exactly. */
export const NODE_MODULES = {
  "@modelcontextprotocol/client": "2.4.0",
  "@modelcontextprotocol/sdk": "1.32.2",
  binaryen: "132.0.0",
  esbuild: "0.28.2",
  miniflare: "5.20261117.0-beta",
  node: NODE,
  workerd: "1.20261117.1",
  wrangler: "4.164.0",
};

/** Python packages of the client tests, in a virtual environment in the user's cache. */
export const PYTHON_PACKAGES = { mcp: "2.3.0" };

/** The Python package whose source distribution has the official test suite of JSON Schema. */
export const SCHEMA_SUITE = { name: "jsonschema", version: "4.26.0" };

/** The oldest Python that these packages run on. */
export const PYTHON_AT_LEAST = [3, 10];
