// The stand-in as a Worker: its state in one Durable Object, the SQL of each database in another.
//
// It does not run the workers that are deployed to it: of each it answers /health, from the
// variable COMMIT_SHA, and their code is not kept.
import { handler, objectClass } from "../kit/durable.mjs";
import { Cloud } from "./cloud.mjs";
import { health } from "./health.mjs";

export const CloudObject = objectClass((ctx, env) => {
  /** @param {string} uuid */
  const database = (uuid) => env.DATABASES.get(env.DATABASES.idFromName(`${ctx.id} ${uuid}`));
  /**
   * @param {string} uuid
   * @param {string} what
   * @param {unknown} [body]
   */
  const ask = async (uuid, what, body) => {
    const response = await database(uuid).fetch(`http://database/${what}`, {
      method: "POST",
      body: JSON.stringify(body ?? null),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  };
  return new Cloud({
    platform: {
      query: (uuid, statements) => ask(uuid, "query", statements),
      tables: (uuid) => ask(uuid, "tables"),
      dropDatabase: (uuid) => ask(uuid, "drop"),
      keep: async () => {},
      run: async (_cloud, _name, version, request) => health(version, request),
    },
  });
});

export class DatabaseObject {
  #storage;

  /** @param {any} ctx */
  constructor(ctx) {
    this.#storage = ctx.storage;
  }

  /**
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async fetch(request) {
    const body = await request.json();
    try {
      switch (new URL(request.url).pathname) {
        case "/query":
          return Response.json(this.#storage.transactionSync(() => body.map(this.#run, this)));
        case "/tables":
          return Response.json(
            this.#rows(
              "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%' ORDER BY name",
            ).map((row) => row.name),
          );
        default:
          await this.#storage.deleteAll();
          return Response.json(null);
      }
    } catch (error) {
      return Response.json(
        { error: error instanceof Error ? error.message : String(error) },
        { status: 400 },
      );
    }
  }

  /** @param {{sql: string, params: unknown[]}} statement */
  #run({ sql, params }) {
    const before = this.#mark();
    const cursor = this.#storage.sql.exec(sql, ...params);
    const results = cursor.toArray();
    const changed = this.#mark() !== before;
    return {
      results,
      changed,
      meta: {
        duration: 0.1,
        changes: changed ? 1 : 0,
        rows_read: cursor.rowsRead,
        rows_written: cursor.rowsWritten,
      },
    };
  }

  /** Two marks differ when something was written in between. */
  #mark() {
    const [{ n }] = /** @type {[{n: number}]} */ (this.#rows("SELECT total_changes() AS n"));
    return `${n} ${JSON.stringify(this.#rows("SELECT name, sql FROM sqlite_master"))}`;
  }

  /**
   * @param {string} sql
   * @returns {Record<string, unknown>[]}
   */
  #rows(sql) {
    return this.#storage.sql.exec(sql).toArray();
  }
}

export default handler("CLOUDS");
