// The worker that ships, on a D1 that keeps no record where the copy's variable BENCH_RECORDS is "no":
// what is written to `journal` and `recordings` is answered as written and goes nowhere, so that a run beside
// it shows what recording costs. A run of such a copy cannot park.
import Shipped, { Attempt as ShippedAttempt } from "../../src/entry.js";

export * from "../../src/entry.js";

const RECORD = /^\s*(INSERT INTO|DELETE FROM|UPDATE)\s+(journal|recordings)\b/;
const WRITTEN = { success: true, results: [], meta: { changes: 1 } };

/** Statements of the record, bound or not. */
const ofRecord = new WeakSet();

/** @param {any} db @param {string} sql */
function prepare(db, sql) {
  const statement = db.prepare(sql);
  if (RECORD.test(sql)) {
    const bind = statement.bind.bind(statement);
    statement.bind = (/** @type {any[]} */ ...values) => {
      const bound = bind(...values);
      ofRecord.add(bound);
      return bound;
    };
  }
  return statement;
}

/** @param {any} db @param {any[]} statements */
async function batch(db, statements) {
  const kept = statements.filter((statement) => !ofRecord.has(statement));
  const results = kept.length > 0 ? await db.batch(kept) : [];
  return statements.map((statement) => (ofRecord.has(statement) ? WRITTEN : results.shift()));
}

/** @param {any} env */
const unrecorded = (env) =>
  env.BENCH_RECORDS !== "no"
    ? env
    : {
        ...env,
        DB: new Proxy(env.DB, {
          get(db, key) {
            if (key === "prepare") return (/** @type {string} */ sql) => prepare(db, sql);
            if (key === "batch") return (/** @type {any[]} */ all) => batch(db, all);
            const value = Reflect.get(db, key, db);
            return key !== "constructor" && typeof value === "function" ? value.bind(db) : value;
          },
        }),
      };

export default class Api extends Shipped {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, unrecorded(env));
  }
}

export class Attempt extends ShippedAttempt {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, unrecorded(env));
  }
}
