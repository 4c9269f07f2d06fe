// Migrations of a deployed database, as wrangler keeps them: the same table, so that either of the
// two goes on where the other stopped.
//
// A migration and the row that says so are one request, of which all or nothing takes effect. When
// its answer is lost, that row is looked for before it is sent again: nothing is applied twice.
import fs from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ATTEMPTS, ApiError, isRetryable, pauseMs } from "./http.mjs";
import { say } from "./log.mjs";
import { migrationNames, migrationsDir } from "./project.mjs";

/** wrangler's own, word for word: it may have made the table, or find it made. */
const TABLE = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);`;

/**
 * Applies the migrations that the databases lack.
 *
 * @param {import("./target.mjs").Target} target
 * @param {import("./environment.mjs").Found} found
 * @returns {Promise<string[]>} Those that were pending.
 */
export async function migrate({ cloud, project, dryRun }, found) {
  /** @type {string[]} */
  const all = [];
  for (const database of project.databases) {
    const names = migrationNames(project, database);
    if (names.length === 0) continue;
    const id = found.databases[database.binding] ?? "(missing)";
    const applied = id === "(missing)" ? [] : await appliedMigrations(cloud, id);
    const pending = names.filter((name) => !applied.includes(name));
    all.push(...pending);
    if (pending.length === 0) continue;
    say(`${dryRun ? "would apply" : "applying"} to ${database.binding}: ${pending.join(", ")}`);
    if (dryRun) continue;
    await cloud.query(id, TABLE);
    for (const name of pending) {
      const file = path.join(migrationsDir(project, database), name);
      await apply(cloud, id, name, fs.readFileSync(file, "utf8"));
    }
  }
  return all;
}

/**
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {string} id
 * @param {string} name
 * @param {string} sql
 */
async function apply(cloud, id, name, sql) {
  const recorded = `INSERT INTO "d1_migrations" (name) VALUES ('${name.replaceAll("'", "''")}');`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await cloud.change(id, `${sql}\n${recorded}`);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || !isRetryable(error.status)) throw error;
      const pause = attempt < ATTEMPTS ? pauseMs(attempt, null) : undefined;
      if (pause === undefined) throw error;
      say(`${name}: ${error.message}, looking whether it is applied in ${Math.round(pause)} ms`);
      await delay(pause);
      if ((await appliedMigrations(cloud, id)).includes(name)) return;
    }
  }
}

/**
 * @param {import("./cloudflare.mjs").Cloudflare} cloud
 * @param {string} id
 * @returns {Promise<string[]>}
 */
async function appliedMigrations(cloud, id) {
  const table = await cloud.query(
    id,
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'd1_migrations'",
  );
  if (table.length === 0) return [];
  const rows = await cloud.query(id, "SELECT name FROM d1_migrations ORDER BY id");
  return rows.map((row) => String(row.name));
}
