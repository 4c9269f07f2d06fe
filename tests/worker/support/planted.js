// The worker that ships, on a platform that fails: HOLDFAST_TEST_PLANT names what throws in place
// of working, and what it throws: `loader TimeoutError`, `db AbortError`.
import Honest, { Attempt as HonestAttempt } from "../../../src/entry.js";

export * from "../../../src/entry.js";

/** What the planted errors say; nobody outside may ever read it. */
const PLANTED = "planted at https://inside.example/private?key=k-5f1c";

/** @type {string} */
let name = "";

const thrown = () =>
  Object.assign(new DOMException(PLANTED, name), {
    stack: `${name}: ${PLANTED}\n    at inside.js:1:1`,
  });

const fails = async () => {
  throw thrown();
};

const failsAtOnce = () => {
  throw thrown();
};

const sandbox = (/** @type {any} */ evaluate) => ({
  load: () => ({ getEntrypoint: () => ({ evaluate }) }),
});

/**
 * What each place is replaced with.
 *
 * @type {Record<string, (env: any) => any>}
 */
const PLACES = {
  attempt: (env) => env,
  loader: (env) => ({ ...env, LOADER: { load: failsAtOnce } }),
  evaluate: (env) => ({ ...env, LOADER: sandbox(fails) }),
  "evaluate at once": (env) => ({ ...env, LOADER: sandbox(failsAtOnce) }),
  tools: (env) => ({ ...env, TOOLS: { tools: fails, call: fails } }),
  call: (env) => ({ ...env, TOOLS: { tools: async () => '["job"]', call: fails } }),
  "call at once": (env) => ({ ...env, TOOLS: { tools: async () => '["job"]', call: failsAtOnce } }),
  fetch: (env) => {
    globalThis.fetch = fails;
    return env;
  },
  body: (env) => {
    const stream = () =>
      new ReadableStream({
        pull(controller) {
          controller.error(thrown());
        },
      });
    globalThis.fetch = async () => new Response(stream());
    return env;
  },
  db: (env) => ({
    ...env,
    // Of the class that bindings are checked by.
    DB: new Proxy(env.DB, {
      get: (db, key) => (["batch", "exec"].includes(String(key)) ? fails : planted(db, key)),
    }),
  }),
};

/** @param {any} db @param {PropertyKey} key */
function planted(db, key) {
  const value = Reflect.get(db, key, db);
  if (key === "constructor") return value;
  if (key !== "prepare") return typeof value === "function" ? value.bind(db) : value;
  return (/** @type {string} */ sql) => {
    const statement = value.call(db, sql);
    for (const one of ["run", "all", "first", "raw"]) statement[one] = fails;
    const bind = statement.bind.bind(statement);
    statement.bind = (/** @type {any[]} */ ...values) => {
      const bound = bind(...values);
      for (const one of ["run", "all", "first", "raw"]) bound[one] = fails;
      return bound;
    };
    return statement;
  };
}

/** Where something is planted. */
let place = "";

/** @param {any} env */
function plantedEnv(env) {
  const [, where = "", error = ""] = /^(.*) (\w+)$/.exec(env.HOLDFAST_TEST_PLANT) ?? [];
  const plant = PLACES[where];
  if (plant === undefined) throw new Error(`HOLDFAST_TEST_PLANT: there is no place ${where}`);
  place = where;
  name = error;
  return plant(env);
}

export default class Api extends Honest {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, plantedEnv(env));
  }
}

export class Attempt extends HonestAttempt {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, plantedEnv(env));
  }

  /**
   * @param {any} order
   * @param {any} aborted
   * @param {any} told
   */
  start(order, aborted, told) {
    return place === "attempt" ? fails() : super.start(order, aborted, told);
  }
}
