// The GitHub API as the previews use it: comments of a pull request, and which are open.
import { Problem } from "./log.mjs";
import { requestJson } from "./http.mjs";

const PER_PAGE = 100;

/** @typedef {{id: number, body: string, user: {login: string} | null}} Comment */

export class GitHub {
  #base;
  #token;
  #repository;

  /** @param {{baseUrl: string, token: string, repository: string}} options */
  constructor({ baseUrl, token, repository }) {
    this.#base = baseUrl.replace(/\/$/, "");
    this.#token = token;
    this.#repository = repository;
  }

  /** @param {NodeJS.ProcessEnv} env */
  static fromEnv(env) {
    for (const name of ["GITHUB_TOKEN", "GITHUB_REPOSITORY"]) {
      if (!env[name]) {
        throw new Problem(`${name} is not set; a workflow has it, elsewhere set it by hand.`);
      }
    }
    return new GitHub({
      baseUrl: env.GITHUB_API_URL || "https://api.github.com",
      token: env.GITHUB_TOKEN ?? "",
      repository: env.GITHUB_REPOSITORY ?? "",
    });
  }

  /**
   * @param {number} pr
   * @returns {Promise<Comment[]>}
   */
  comments(pr) {
    return this.#pages(`/issues/${pr}/comments`);
  }

  /**
   * @param {number} pr
   * @param {string} body
   * @returns {Promise<Comment>}
   */
  createComment(pr, body) {
    return this.#call("POST", `/issues/${pr}/comments`, { body });
  }

  /**
   * @param {number} id
   * @param {string} body
   * @returns {Promise<Comment>}
   */
  updateComment(id, body) {
    return this.#call("PATCH", `/issues/comments/${id}`, { body });
  }

  /** @param {number} id */
  deleteComment(id) {
    return this.#call("DELETE", `/issues/comments/${id}`);
  }

  /** @returns {Promise<number[]>} */
  async openPullRequests() {
    const open = await this.#pages("/pulls", { state: "open" });
    return open.map(({ number }) => number);
  }

  /**
   * @param {string} path
   * @param {Record<string, string>} [query]
   * @returns {Promise<any[]>}
   */
  async #pages(path, query = {}) {
    /** @type {any[]} */
    const items = [];
    for (let page = 1; ; page += 1) {
      const params = new URLSearchParams({
        ...query,
        per_page: String(PER_PAGE),
        page: String(page),
      });
      const { body, headers } = await this.#request("GET", `${path}?${params}`);
      items.push(...body);
      if (!/rel="next"/.test(headers.get("link") ?? "")) return items;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #call(method, path, body) {
    return (await this.#request(method, path, body)).body;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  #request(method, path, body) {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${this.#token}`,
      "user-agent": "holdfast-deploy",
      "x-github-api-version": "2022-11-28",
    };
    return requestJson(
      `${this.#base}/repos/${this.#repository}${path}`,
      { method, headers, body },
      (_, failed) => ({ message: failed?.message ?? "" }),
    );
  }
}
