// The stand-in in node: SQL by node's own SQLite, deployed workers imported and run.
//
// A worker is run when node can import it: ES modules without `cloudflare:` imports or Wasm. Of
// any other worker only `/health` is answered, from its variable COMMIT_SHA, and everything else
// is 501: that a deploy arrived can be seen, what the code does cannot. tests/worker runs code.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { serve } from "../kit/serve.mjs";
import { Cloud } from "./cloud.mjs";
import { health } from "./health.mjs";

class NodePlatform {
  /** @type {Map<string, DatabaseSync>} */
  #databases = new Map();
  #dir;

  /** @param {string} dir Where the code of deployed workers is put. */
  constructor(dir) {
    this.#dir = dir;
  }

  /** @param {string} uuid */
  #open(uuid) {
    const database = this.#databases.get(uuid) ?? new DatabaseSync(":memory:");
    this.#databases.set(uuid, database);
    return database;
  }

  /**
   * @param {string} uuid
   * @param {{sql: string, params: unknown[]}[]} statements
   * @returns {Promise<import("./cloud.mjs").Rows[]>}
   */
  async query(uuid, statements) {
    const database = this.#open(uuid);
    database.exec("BEGIN");
    try {
      const rows = statements.map(({ sql, params }) => {
        const before = mark(database);
        const results = database.prepare(sql).all(.../** @type {any[]} */ (params));
        const after = mark(database);
        const changed = before !== after;
        return {
          results: results.map((row) => ({ ...row })),
          changed,
          meta: {
            duration: 0.1,
            changes: changed ? 1 : 0,
            rows_read: results.length,
            rows_written: changed ? 1 : 0,
          },
        };
      });
      database.exec("COMMIT");
      return rows;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  }

  /** @param {string} uuid */
  async tables(uuid) {
    const rows = this.#open(uuid)
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all();
    return rows.map((row) => String(row.name));
  }

  /** @param {string} uuid */
  async dropDatabase(uuid) {
    this.#databases.get(uuid)?.close();
    this.#databases.delete(uuid);
  }

  /**
   * @param {string} versionId
   * @param {Map<string, Uint8Array>} modules A single one without a name: the id of the version
   *   whose code this one has.
   */
  async keep(versionId, modules) {
    const dir = path.join(this.#dir, versionId);
    const same = modules.get("");
    if (same !== undefined) {
      fs.symlinkSync(path.join(this.#dir, new TextDecoder().decode(same)), dir);
      return;
    }
    for (const [name, bytes] of modules) {
      const file = path.resolve(dir, name);
      if (!file.startsWith(dir + path.sep)) {
        throw new Error(`a module outside of its worker: ${name}`);
      }
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, bytes);
    }
    fs.writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
  }

  /**
   * @param {Cloud} _cloud
   * @param {string} _name
   * @param {import("./cloud.mjs").Version} version
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async run(_cloud, _name, version, request) {
    let worker;
    try {
      worker = (await import(pathToFileURL(path.join(this.#dir, version.id, version.main)).href))
        .default;
    } catch {
      return health(version, request);
    }
    return worker.fetch(request, this.#env(version), {
      waitUntil() {},
      passThroughOnException() {},
    });
  }

  /** @param {import("./cloud.mjs").Version} version */
  #env(version) {
    /** @type {Record<string, unknown>} */
    const env = {};
    for (const binding of version.bindings) {
      if (binding.type === "plain_text" || binding.type === "secret_text") {
        env[binding.name] = binding.text;
      }
      if (binding.type === "json") env[binding.name] = binding.json;
      if (binding.type === "d1") env[binding.name] = this.#d1(binding.id ?? binding.database_id);
    }
    return env;
  }

  /** @param {string} uuid */
  #d1(uuid) {
    const query = this.query.bind(this);
    return {
      /** @param {string} sql */
      prepare(sql) {
        /** @param {unknown[]} params */
        const bound = (params) => ({
          /** @param {unknown[]} more */
          bind: (...more) => bound(more),
          all: async () => (await query(uuid, [{ sql, params }]))[0],
          run: async () => (await query(uuid, [{ sql, params }]))[0],
          first: async () => (await query(uuid, [{ sql, params }]))[0]?.results[0] ?? null,
        });
        return bound([]);
      },
    };
  }
}

/**
 * Two marks differ when something was written in between.
 *
 * @param {DatabaseSync} database
 */
function mark(database) {
  const total = database.prepare("SELECT total_changes() AS n").get()?.n;
  const schema = database.prepare("PRAGMA schema_version").get()?.schema_version;
  return `${total} ${schema}`;
}

/**
 * @param {{port?: number, token?: string, logLimit?: number}} [options]
 */
export async function serveCloudflare({ port, token, logLimit = 10_000 } = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-cloud-"));
  const server = await serve(() => new Cloud({ platform: new NodePlatform(dir), logLimit }), {
    ...(port === undefined ? {} : { port }),
    ...(token === undefined ? {} : { token }),
    shared: true,
  });
  return {
    ...server,
    close: async () => {
      await server.close();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = Number(process.env.PORT ?? 8789);
  const { url } = await serveCloudflare({
    port,
    ...(process.env.MOCKS_TOKEN ? { token: process.env.MOCKS_TOKEN } : {}),
  });
  console.log(
    `Cloudflare's stand-in: ${url}/__mocks, for CLOUDFLARE_API_BASE_URL=${url}/client/v4`,
  );
}
