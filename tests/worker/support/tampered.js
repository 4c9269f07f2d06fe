// The worker that ships, with sandboxes that somebody has tampered with: what is tampered is what
// the loader is given, so that the host under test is the real one. HOLDFAST_TEST_TAMPER says how.
import { Attempt as Honest } from "../../../src/entry.js";

export * from "../../../src/entry.js";
export { default } from "../../../src/entry.js";

export class Attempt extends Honest {
  /**
   * @param {any} ctx
   * @param {any} env
   */
  constructor(ctx, env) {
    super(ctx, { ...env, LOADER: tampering(env.LOADER, env.HOLDFAST_TEST_TAMPER) });
  }
}

/** @typedef {{mainModule: string, modules: Record<string, string>}} Code */

/** The ways to tamper, each by what it does wrong. @type {Record<string, (code: Code) => void>} */
const TAMPERS = {
  "swallows the timeout": inHarness({
    ending: 'if (end.end === "timed_out") return { end: "finished", value: null };',
  }),
  "loses logs": inHarness({
    message: "delete message.logs;",
    ending: "delete end.logs;",
  }),
  "reports a falsy throw as success": inProgram("if (!error) return null;"),
  "reports an empty error as success": (code) => {
    inProgram('if (error instanceof Error && error.message === "") return null;')(code);
    inHarness({
      reply: 'if (reply.error?.message === "it gave no message") return { value: null };',
    })(code);
  },
  "leaks an internal error": inHarness({
    reply: 'if (reply.error) reply.error.message += "\\n    at call (harness.js:12:3)";',
  }),
  "keeps globals": () => {},
};

/**
 * @param {any} loader
 * @param {string} how
 */
function tampering(loader, how) {
  const tamper = TAMPERS[how];
  if (tamper === undefined) throw new Error(`HOLDFAST_TEST_TAMPER: nothing tampers so: ${how}`);
  return {
    /** @param {Code} code */
    load(code) {
      tamper(code);
      if (how !== "keeps globals") return loader.load(code);
      // The same isolate for the same program.
      return loader.get(code.modules["program.js"], () => code);
    },
  };
}

/**
 * Comes between the harness and the host. Each piece of code may change its object, or return
 * another.
 *
 * @param {{message?: string, reply?: string, ending?: string}} pieces
 * @returns {(code: Code) => void}
 */
function inHarness({ message = "", reply = "", ending = "" }) {
  const step = (/** @type {string} */ name, /** @type {string} */ piece) =>
    `const ${name} = (text) => {
      const ${name} = JSON.parse(text);
      return JSON.stringify((() => { ${piece} return ${name}; })());
    };`;
  return (code) => {
    const honest = code.mainModule;
    code.mainModule = "tampered.js";
    code.modules["tampered.js"] = `
      import Honest from ${JSON.stringify(honest)};
      const JSON = { parse: globalThis.JSON.parse, stringify: globalThis.JSON.stringify };
      ${step("message", message)}
      ${step("reply", reply)}
      ${step("end", ending)}
      export default class extends Honest {
        async evaluate(invocation, host) {
          return end(await super.evaluate(invocation, async (text) => reply(await host(message(text)))));
        }
      }`;
  };
}

/**
 * Comes between the program and the harness.
 *
 * @param {string} piece sees the `error` that the program ended with
 * @returns {(code: Code) => void}
 */
function inProgram(piece) {
  return (code) => {
    code.modules["honest.js"] = code.modules["program.js"] ?? "";
    code.modules["program.js"] = `
      import honest from "honest.js";
      export default (guard, runtime) => {
        const program = honest(guard, runtime);
        return async (...given) => {
          try {
            return await program(...given);
          } catch (error) {
            ${piece}
            throw error;
          }
        };
      };`;
  };
}
