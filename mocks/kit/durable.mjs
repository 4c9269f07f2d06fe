// A stand-in in a Worker: an object for each token, which holds its state.
import { refuse, stateName, tokenOf } from "./token.mjs";

/**
 * The Worker's handler in front of the objects.
 *
 * @param {string} binding The name under which the objects are bound.
 */
export function handler(binding) {
  return {
    /**
     * @param {Request} request
     * @param {Record<string, any>} env
     * @returns {Promise<Response>}
     */
    async fetch(request, env) {
      const refused = await refuse(request, env.MOCKS_TOKEN);
      if (refused) return refused;
      const objects = env[binding];
      // With a token configured there is one state: whoever is let in shares it.
      const name = env.MOCKS_TOKEN ? "shared" : await stateName(tokenOf(request));
      return objects.get(objects.idFromName(name)).fetch(request);
    },
  };
}

/**
 * Makes the class of the objects. The stand-in's `state` is read once and written after each
 * request that changed it; its log is kept in memory only, and is lost when the object is evicted.
 *
 * @param {(ctx: any, env: any) => import("./mock.mjs").Mock & {state: any}} make
 */
export function objectClass(make) {
  return class {
    /** @type {import("./mock.mjs").Mock & {state: any}} */
    #mock;
    #ctx;
    #stored = "";

    /**
     * @param {any} ctx
     * @param {any} env
     */
    constructor(ctx, env) {
      this.#ctx = ctx;
      this.#mock = make(ctx, env);
      ctx.blockConcurrencyWhile(async () => {
        const state = await ctx.storage.get("state");
        if (state !== undefined) this.#mock.state = JSON.parse(state);
      });
    }

    /**
     * @param {Request} request
     * @returns {Promise<Response>}
     */
    async fetch(request) {
      const response = await this.#mock.fetch(request);
      const state = JSON.stringify(this.#mock.state);
      if (state !== this.#stored) {
        await this.#ctx.storage.put("state", state);
        this.#stored = state;
      }
      return response;
    }
  };
}
