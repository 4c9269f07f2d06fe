// What some tests need and no registry of ours brings: Python with an MCP client, and a browser.
//
// A test asks here and skips itself with the reason that it is given:
//
//   const python = await pythonWithMcp();
//   test("…", { skip: python.missing }, async () => { … python.path … });
import fs from "node:fs";
import path from "node:path";
import { PYTHON_AT_LEAST, PYTHON_PACKAGES, SCHEMA_SUITE } from "../versions.mjs";
import { Refusal, run } from "./command.mjs";
import { withLock } from "./lock.mjs";
import { cacheDir } from "./places.mjs";

/** @typedef {{path: string, missing: undefined} | {path: undefined, missing: string}} Need */

const PACKAGES = Object.entries(PYTHON_PACKAGES).map(([name, version]) => `${name}==${version}`);
const VENV = path.join(cacheDir(), "python", Object.entries(PYTHON_PACKAGES).flat().join("-"));
const VENV_PYTHON = path.join(VENV, "bin", "python");

/**
 * A Python that has the MCP client in the pinned version.
 *
 * @returns {Promise<Need>}
 */
export async function pythonWithMcp() {
  const check = Object.entries(PYTHON_PACKAGES)
    .map(([name, version]) => `assert v(${JSON.stringify(name)}) == ${JSON.stringify(version)}`)
    .join("; ");
  const said = await run(VENV_PYTHON, [
    "-c",
    `from importlib.metadata import version as v; ${check}`,
  ]);
  if (said.ok) return { path: VENV_PYTHON, missing: undefined };
  return {
    path: undefined,
    missing: `Python with ${PACKAGES.join(", ")} is missing; get it: node scripts/setup.mjs --python`,
  };
}

/** Makes the virtual environment where it is missing. */
export async function installPython() {
  if ((await pythonWithMcp()).path) return;
  await withLock(`python-${path.basename(VENV)}`, async () => {
    if ((await pythonWithMcp()).path) return;
    const base = await findPython();
    console.log(`Installing ${PACKAGES.join(", ")} into ${VENV}…`);
    // A virtual environment knows its own path, so it is made in place and judged by what it has.
    fs.rmSync(VENV, { recursive: true, force: true });
    fs.mkdirSync(path.dirname(VENV), { recursive: true });
    const steps = /** @type {const} */ ([
      [base, ["-m", "venv", VENV]],
      [VENV_PYTHON, ["-m", "pip", "install", "--quiet", ...PACKAGES]],
    ]);
    for (const [file, args] of steps) {
      const done = await run(file, [...args]);
      if (!done.ok) throw new Refusal(`${file} ${args.join(" ")} failed:\n${done.text}`);
    }
    const { missing } = await pythonWithMcp();
    if (missing !== undefined) throw new Refusal(missing);
  });
}

const SUITE = path.join(cacheDir(), "json-schema-suite", SCHEMA_SUITE.version);

/**
 * The official test suite of JSON Schema: the folder that has one folder a draft.
 *
 * @returns {Need}
 */
export function schemaSuite() {
  if (fs.existsSync(SUITE)) return { path: SUITE, missing: undefined };
  const { name, version } = SCHEMA_SUITE;
  return {
    path: undefined,
    missing: `the test suite of JSON Schema, from ${name} ${version}, is missing; get it: node scripts/setup.mjs --python`,
  };
}

/** Gets the test suite of JSON Schema where it is missing. */
export async function installSchemaSuite() {
  await installPython();
  await withLock("json-schema-suite", async () => {
    if (schemaSuite().path) return;
    const { name, version } = SCHEMA_SUITE;
    console.log(`Getting the test suite of JSON Schema from ${name} ${version}…`);
    const parent = path.dirname(SUITE);
    fs.mkdirSync(parent, { recursive: true });
    const folder = fs.mkdtempSync(path.join(parent, "getting-"));
    try {
      const unpack =
        "import glob, sys, tarfile; tarfile.open(glob.glob(sys.argv[1] + '/*.tar.gz')[0])" +
        ".extractall(sys.argv[1], filter='data')";
      for (const args of [
        ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name].concat(
          ["--dest", folder],
          [`${name}==${version}`],
        ),
        ["-c", unpack, folder],
      ]) {
        const done = await run(VENV_PYTHON, args);
        if (!done.ok) throw new Refusal(`${VENV_PYTHON} ${args.join(" ")} failed:\n${done.text}`);
      }
      fs.renameSync(path.join(folder, `${name}-${version}`, "json", "tests"), SUITE);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** @returns {Promise<string>} */
async function findPython() {
  const wanted = PYTHON_AT_LEAST.join(".");
  for (const name of ["python3", "python"]) {
    const said = await run(name, [
      "-c",
      `import sys; sys.exit(sys.version_info < (${PYTHON_AT_LEAST.join(", ")}))`,
    ]);
    if (said.ok) return name;
  }
  throw new Refusal(
    `Python ${wanted} or later is missing. Get it:\n` +
      "    Debian, Ubuntu   sudo apt-get install python3 python3-venv\n" +
      "    macOS            brew install python",
  );
}

/** Where a Chromium may be, by name or by path. */
const BROWSERS = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/**
 * A Chromium; `HOLDFAST_CHROMIUM` names one that is somewhere else.
 *
 * @returns {Promise<Need>}
 */
export async function chromium() {
  const named = process.env.HOLDFAST_CHROMIUM;
  for (const file of named ? [named] : BROWSERS) {
    const said = await run(file, ["--version"]);
    if (said.ok && /Chrom/.test(said.text)) return { path: file, missing: undefined };
  }
  return {
    path: undefined,
    missing: named
      ? `HOLDFAST_CHROMIUM names ${named}, which is no Chromium that runs`
      : "Chromium is missing; get it: sudo apt-get install chromium, or name one in HOLDFAST_CHROMIUM",
  };
}
