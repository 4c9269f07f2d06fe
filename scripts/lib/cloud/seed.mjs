// Data for a preview: programs run through the worker's own API, so that the pages show something.
//
// Done once for each list of seeds: a row in the preview's database says so. A killed seeding is
// done again from the top; each request has an idempotency key, so nothing appears twice.
//
// The admin token of a preview is known to nobody: where seeding needs one, a fresh one is set
// first, and forgotten when the process ends.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Problem, say } from "./log.mjs";
import { healthPauseMs } from "./health.mjs";
import { addresses } from "./target.mjs";
import { freshSecret } from "./upload.mjs";

/** Tries until a worker knows its new token, and until a passing failure is over. */
const ATTEMPTS = 30;

/** One request may run a program for as long as its budget. */
const REQUEST_TIMEOUT_MS = 120_000;

const TABLE = "CREATE TABLE IF NOT EXISTS preview_seeds (digest TEXT PRIMARY KEY) STRICT";

/** @typedef {{key: string, path: string, body: unknown}} Seed */

/**
 * @param {import("./target.mjs").Target} target
 * @param {Record<string, string>} databases Ids by binding.
 * @returns {Promise<{seeded: number, total: number}>}
 */
export async function seed({ project, environment, cloud, dryRun }, databases) {
  const seeds = readSeeds(project.root);
  const digest = createHash("sha256").update(JSON.stringify(seeds)).digest("hex");
  const id = databases.DB;
  if (seeds.length === 0 || id === undefined) return { seeded: 0, total: seeds.length };
  if (id !== "(missing)" && (await isSeeded(cloud, id, digest))) {
    say(`${environment.worker} has its seed data`);
    return { seeded: 0, total: seeds.length };
  }
  say(`${dryRun ? "would seed" : "seeding"} ${environment.worker}: ${seeds.length} requests`);
  if (dryRun) return { seeded: seeds.length, total: seeds.length };
  const url = (await addresses(cloud))(environment.worker);
  const token = freshSecret();
  await cloud.putSecret(environment.worker, "HOLDFAST_ADMIN_TOKEN", token);
  for (const one of seeds) await plant(url, token, one);
  await cloud.query(id, TABLE);
  await cloud.query(id, "INSERT OR IGNORE INTO preview_seeds (digest) VALUES (?)", [digest]);
  return { seeded: seeds.length, total: seeds.length };
}

/**
 * @param {string} root
 * @returns {Seed[]}
 */
function readSeeds(root) {
  const file = path.join(root, "scripts", "preview-seed.json");
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : [];
}

/**
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {string} id
 * @param {string} digest
 */
async function isSeeded(cloud, id, digest) {
  const table = await cloud.query(
    id,
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'preview_seeds'",
  );
  if (table.length === 0) return false;
  const rows = await cloud.query(id, "SELECT digest FROM preview_seeds WHERE digest = ?", [digest]);
  return rows.length > 0;
}

/**
 * @param {string} url
 * @param {string} token
 * @param {Seed} seed
 */
async function plant(url, token, { key, path: at, body }) {
  for (let attempt = 1; ; attempt += 1) {
    let wrong;
    try {
      const response = await fetch(`${url}${at}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": `preview-seed-${key}`,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      if (response.ok) {
        await response.arrayBuffer();
        return;
      }
      wrong = `${response.status} ${(await response.text()).slice(0, 500)}`;
      // 401: the token is on its way. 404: so is the worker's address. 409: the same key is running.
      const passes = [401, 404, 409, 429].includes(response.status) || response.status >= 500;
      if (!passes) throw new Problem(`seed ${key}: ${wrong}`);
    } catch (error) {
      if (error instanceof Problem) throw error;
      wrong ??= error instanceof Error ? error.message : String(error);
    }
    if (attempt === ATTEMPTS) throw new Problem(`seed ${key}: ${wrong} (tried ${ATTEMPTS} times)`);
    say(`seed ${key}: ${wrong}, trying again`);
    await delay(healthPauseMs());
  }
}
