// The worker that ships, with a clock at D1: `x-d1-ms` of an answer is the time in which the request
// had at least one statement under way.
import Shipped, { Attempt as ShippedAttempt } from "../../src/entry.js";

export * from "../../src/entry.js";

let underWay = 0;
let since = 0;
let spent = 0;

/**
 * @template {(...args: any[]) => Promise<any>} F
 * @param {F} ask
 */
const timed = (ask) =>
  async function (/** @type {any[]} */ ...args) {
    if (underWay === 0) since = performance.now();
    underWay += 1;
    try {
      return await ask(...args);
    } finally {
      underWay -= 1;
      if (underWay === 0) spent += performance.now() - since;
    }
  };

/** @param {any} statement */
function timedStatement(statement) {
  for (const one of ["run", "all", "first", "raw"]) {
    statement[one] = timed(statement[one].bind(statement));
  }
  const bind = statement.bind.bind(statement);
  statement.bind = (/** @type {any[]} */ ...values) => timedStatement(bind(...values));
  return statement;
}

/** @param {any} env */
const timedEnv = (env) => ({
  ...env,
  DB: new Proxy(env.DB, {
    get(db, key) {
      const value = Reflect.get(db, key, db);
      if (key === "constructor" || typeof value !== "function") return value;
      if (key === "prepare")
        return (/** @type {string} */ sql) => timedStatement(value.call(db, sql));
      return key === "batch" ? timed(value.bind(db)) : value.bind(db);
    },
  }),
});

export default class Api extends Shipped {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, timedEnv(env));
  }

  /** @param {Request} request */
  async fetch(request) {
    spent = 0;
    const answer = await super.fetch(request);
    const body = await answer.arrayBuffer();
    const headers = new Headers(answer.headers);
    headers.set("x-d1-ms", String(spent));
    return new Response(body, { status: answer.status, headers });
  }
}

export class Attempt extends ShippedAttempt {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, timedEnv(env));
  }
}
