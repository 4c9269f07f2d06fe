// A browser without a screen: keeps cookies, reads pages, sends their forms as they stand.
import assert from "node:assert/strict";
import { ADMIN_TOKEN } from "../harness.mjs";

/** @typedef {import("../harness.mjs").Client} Client */

/**
 * @param {Pick<Client, "url" | "fetch">} worker
 */
export function visitor(worker) {
  /** @type {Map<string, string>} */
  const cookies = new Map();

  /**
   * @param {string} place
   * @param {RequestInit} [init]
   */
  async function ask(place, init = {}) {
    const headers = new Headers(init.headers);
    if (cookies.size > 0) {
      headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    }
    const answer = await worker.fetch(place, { ...init, headers, token: null });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  }

  /** @param {string} place */
  const get = (place) => ask(place);

  /**
   * Sends a form with what the page that was read last carries.
   *
   * @param {string} place
   * @param {Record<string, string>} fields
   * @param {{csrf?: string, origin?: string}} [as]
   */
  function post(place, fields, { csrf = "", origin = worker.url } = {}) {
    return ask(place, {
      method: "POST",
      body: new URLSearchParams({ csrf, ...fields }),
      headers: { origin, "content-type": "application/x-www-form-urlencoded" },
    });
  }

  return {
    cookies,
    get,
    post,

    /**
     * Signs in.
     *
     * @param {string} token
     * @param {string} [next]
     */
    async signIn(token, next = "/") {
      const page = await get(`/sign-in?next=${encodeURIComponent(next)}`);
      const wanted = fieldOf(page.text, "next");
      return post("/sign-in", { token, next: wanted }, { csrf: csrfOf(page.text) });
    },
  };
}

/** @param {string} page @param {string} name */
export function fieldOf(page, name) {
  const [, value] = new RegExp(`name="${name}" value="([^"]*)"`).exec(page) ?? [];
  assert.ok(value !== undefined, `there is no field ${name}: ${page.slice(0, 2000)}`);
  return value;
}

/** @param {string} page */
export const csrfOf = (page) => fieldOf(page, "csrf");

let made = 0;

/**
 * A principal of its own with rules, one token that runs programs and one of a person.
 *
 * @param {Client} worker
 * @param {unknown[]} [rules]
 */
export async function principal(worker, rules = []) {
  const name = `p${++made}-${Date.now()}`;
  /** @param {string[]} scopes @param {string} [label] */
  const token = async (scopes, label = "t") => {
    const answer = await worker.json(
      "/v1/tokens",
      { label, principal: name, scopes },
      { token: ADMIN_TOKEN },
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  };
  const { token: agent } = await token(["execute", "runs", "packages"]);
  const person = await token([
    "approve",
    "execute",
    "runs",
    "packages",
    "sources",
    "secrets",
    "policies",
    "tokens",
  ]);
  const put = await worker.json("/v1/policies", { rules }, { method: "PUT", token: person.token });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  return {
    name,
    agent,
    person: person.token,
    personId: person.id,
    token,
    /** @param {string | Record<string, unknown>} program */
    run: (program) => worker.execute(program, { token: agent }),
  };
}
