// The worker that ships, which counts its ways to D1: `GET /ways` of a copy tells how many there were since
// it was last asked.
import Shipped, { Attempt as ShippedAttempt } from "../../../src/entry.js";

export * from "../../../src/entry.js";

let ways = 0;

/** @param {any} statement */
function counted(statement) {
  for (const one of ["run", "all", "first", "raw"]) {
    const ask = statement[one].bind(statement);
    statement[one] = (/** @type {any[]} */ ...args) => {
      ways += 1;
      return ask(...args);
    };
  }
  const bind = statement.bind.bind(statement);
  statement.bind = (/** @type {any[]} */ ...values) => counted(bind(...values));
  return statement;
}

/** @param {any} env */
const countedEnv = (env) => ({
  ...env,
  DB: new Proxy(env.DB, {
    get(db, key) {
      const value = Reflect.get(db, key, db);
      if (key === "constructor" || typeof value !== "function") return value;
      return (/** @type {any[]} */ ...args) => {
        if (key === "batch") ways += 1;
        const made = value.apply(db, args);
        return key === "prepare" ? counted(made) : made;
      };
    },
  }),
});

export default class Api extends Shipped {
  /** @param {any} ctx @param {any} env */
  constructor(ctx, env) {
    super(ctx, countedEnv(env));
  }

  /** @param {Request} request */
  async fetch(request) {
    if (new URL(request.url).pathname !== "/ways") return super.fetch(request);
    const counted = ways;
    ways = 0;
    return Response.json({ ways: counted });
  }
}

export class Attempt extends ShippedAttempt {
  /** @param {any} ctx @param {any} env */
  constructor(ctx, env) {
    super(ctx, countedEnv(env));
  }
}
