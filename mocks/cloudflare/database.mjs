// D1: databases by name and id, and SQL over HTTP.
import { Refused, json, paged } from "./api.mjs";
import { statements } from "../../scripts/lib/sql.mjs";

const ROOT = "/accounts/:account/d1/database";

/** Queries that a half-created database fails before it works. */
const HALF_FAILURES = 2;

/**
 * By id, or by name.
 *
 * @param {import("./cloud.mjs").Call} call
 * @returns {import("./cloud.mjs").Database}
 */
function databaseOf({ state, args, touch }) {
  const database =
    state.databases[args[0] ?? ""] ??
    Object.values(state.databases).find(({ name }) => name === args[0]);
  if (database === undefined) {
    throw new Refused(404, 7404, `The database ${args[0]} could not be found`);
  }
  touch(`d1:${database.name}`);
  return database;
}

/** @param {import("./cloud.mjs").Database} database */
const shown = ({ uuid, name, created_at, tables }) => ({
  uuid,
  name,
  created_at,
  version: "production",
  num_tables: tables.length,
  file_size: 8_192,
  jurisdiction: null,
});

/**
 * The statements of a query's body: one text with any number of them, or a batch.
 *
 * @param {any} body
 * @returns {{sql: string, params: unknown[]}[]}
 */
function statementsOf(body) {
  const parts = Array.isArray(body?.batch) ? body.batch : [body];
  return parts.flatMap((/** @type {any} */ part) => {
    if (typeof part?.sql !== "string") throw new Refused(400, 7400, "a query needs `sql`");
    const texts = statements(part.sql);
    if (texts.length > 1 && part.params?.length > 0) {
      throw new Refused(400, 7400, "parameters fit one statement only");
    }
    return texts.map((sql) => ({ sql, params: part.params ?? [] }));
  });
}

/** @type {import("./cloud.mjs").Endpoint[]} */
export const database = [
  [
    "GET",
    ROOT,
    (call) => {
      const name = call.url.searchParams.get("name");
      const all = Object.values(call.state.databases).map(shown);
      // The real one matches names by a part of them, so a client has to compare for itself.
      return paged(call, name === null ? all : all.filter((one) => one.name.includes(name)));
    },
  ],
  [
    "POST",
    ROOT,
    (call) => {
      const name = String(json(call).name ?? "");
      call.touch(`d1:${name}`);
      if (!/^[a-z0-9][a-z0-9-_]{0,63}$/i.test(name)) {
        throw new Refused(400, 7500, `Invalid database name: ${name}`);
      }
      if (Object.values(call.state.databases).some((one) => one.name === name)) {
        throw new Refused(400, 7502, `A database with the name '${name}' already exists`);
      }
      const made = {
        uuid: call.cloud.uuid(),
        name,
        created_at: new Date().toISOString(),
        changes: 0,
        tables: [],
        failuresLeft: call.half ? HALF_FAILURES : 0,
      };
      call.state.databases[made.uuid] = made;
      return shown(made);
    },
  ],
  ["GET", `${ROOT}/:id`, (call) => shown(databaseOf(call))],
  [
    "DELETE",
    `${ROOT}/:id`,
    async (call) => {
      const { uuid } = databaseOf(call);
      delete call.state.databases[uuid];
      await call.cloud.platform.dropDatabase(uuid);
    },
  ],
  [
    "POST",
    `${ROOT}/:id/query`,
    async (call) => {
      const found = databaseOf(call);
      if (found.failuresLeft > 0) {
        found.failuresLeft -= 1;
        throw new Refused(500, 7500, "the database is not ready yet");
      }
      const batch = statementsOf(json(call));
      let rows;
      try {
        rows = await call.cloud.platform.query(found.uuid, batch);
      } catch (error) {
        throw new Refused(
          400,
          7500,
          `${error instanceof Error ? error.message : error}: SQLITE_ERROR`,
        );
      }
      if (rows.some(({ changed }) => changed)) {
        found.changes += 1;
        found.tables = await call.cloud.platform.tables(found.uuid);
      }
      return rows.map(({ results, meta }) => ({ results, success: true, meta }));
    },
  ],
  [
    "GET",
    `${ROOT}/:id/time_travel/bookmark`,
    (call) => ({ bookmark: `${databaseOf(call).changes.toString(16).padStart(8, "0")}-stand-in` }),
  ],
];
