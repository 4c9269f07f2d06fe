// The worker that ships, on a D1 that keeps nothing of the tables that the copy's variable BENCH_DROPS names:
// what is written to them is answered as written and goes nowhere, so that a run beside it shows what
// keeping them costs. A run without its record cannot park.
import Shipped, { Attempt as ShippedAttempt } from "../../src/entry.js";

export * from "../../src/entry.js";

const TABLE = /^\s*(?:INSERT INTO|DELETE FROM|UPDATE)\s+(\w+)/;
const WRITTEN = { success: true, results: [], meta: { changes: 1 } };

/** Bound statements that go nowhere. */
const dropped = new WeakSet();

/** @param {any} db @param {string[]} tables @param {string} sql */
function prepare(db, tables, sql) {
  const statement = db.prepare(sql);
  if (tables.includes(TABLE.exec(sql)?.[1] ?? "")) {
    const bind = statement.bind.bind(statement);
    statement.bind = (/** @type {any[]} */ ...values) => {
      const bound = bind(...values);
      dropped.add(bound);
      return bound;
    };
  }
  return statement;
}

/** @param {any} db @param {any[]} statements */
async function batch(db, statements) {
  const kept = statements.filter((statement) => !dropped.has(statement));
  const results = kept.length > 0 ? await db.batch(kept) : [];
  return statements.map((statement) => (dropped.has(statement) ? WRITTEN : results.shift()));
}

/** @param {any} env */
function dropping(env) {
  if (env.BENCH_DROPS === undefined) return env;
  const tables = env.BENCH_DROPS.split(" ");
  const DB = new Proxy(env.DB, {
    get(db, key) {
      if (key === "prepare") return (/** @type {string} */ sql) => prepare(db, tables, sql);
      if (key === "batch") return (/** @type {any[]} */ all) => batch(db, all);
      const value = Reflect.get(db, key, db);
      return key !== "constructor" && typeof value === "function" ? value.bind(db) : value;
    },
  });
  return { ...env, DB };
}

export default class Api extends Shipped {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, dropping(env));
  }
}

export class Attempt extends ShippedAttempt {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, dropping(env));
  }
}
