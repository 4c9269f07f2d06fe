// A stand-in for the parts of the GitHub API that the previews call: comments, pull requests.
import { Mock } from "../kit/mock.mjs";
import { tokenOf } from "../kit/token.mjs";

/** As in the real one, unless `per_page` says otherwise; 100 at most. */
const PER_PAGE = 30;
const MAX_PER_PAGE = 100;

/** Whose the comments are that come with a token. */
const DEFAULT_LOGIN = "github-actions[bot]";

/** @typedef {{id: number, issue: number, body: string, user: {login: string, type: string}, created_at: string, updated_at: string}} Comment */

/** @returns {{made: number, pageSize: number, comments: Comment[], pulls: Record<string, "open" | "closed">}} */
const emptyState = () => ({ made: 0, pageSize: MAX_PER_PAGE, comments: [], pulls: {} });

export class GitHubMock extends Mock {
  state = emptyState();

  /** @param {{logLimit?: number}} [options] */
  constructor({ logLimit } = {}) {
    super({
      name: "GitHub API",
      endpoints: [
        "GET /repos/:owner/:repo/issues/:number/comments",
        "POST /repos/:owner/:repo/issues/:number/comments",
        "PATCH /repos/:owner/:repo/issues/comments/:id",
        "DELETE /repos/:owner/:repo/issues/comments/:id",
        "GET /repos/:owner/:repo/pulls",
        "POST /__mocks/pulls {number: open | closed}",
        "POST /__mocks/settings {pageSize}",
        "POST /__mocks/comments {issue, body, login} (somebody else's)",
      ],
      ...(logLimit === undefined ? {} : { logLimit }),
    });
  }

  /** @override */
  clear() {
    super.clear();
    this.state = emptyState();
  }

  /** @override */
  snapshot() {
    return this.state;
  }

  /** @override */
  counters() {
    return {
      comments: this.state.comments.length,
      "pull requests": Object.keys(this.state.pulls).length,
    };
  }

  /**
   * @override
   * @param {Request} request
   */
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.method === "POST" && pathname === "/__mocks/pulls") {
      Object.assign(this.state.pulls, await request.json());
      return Response.json({ ok: true });
    }
    if (request.method === "POST" && pathname === "/__mocks/settings") {
      Object.assign(this.state, { pageSize: (await request.json()).pageSize });
      return Response.json({ ok: true });
    }
    if (request.method === "POST" && pathname === "/__mocks/comments") {
      const { issue, body, login } = await request.json();
      return Response.json(this.#add(issue, body, login));
    }
    return super.fetch(request);
  }

  /**
   * @override
   * @param {Request} request
   * @param {URL} url
   * @param {{body: Uint8Array}} how
   */
  async answer(request, url, { body }) {
    if (
      tokenOf(request) === undefined &&
      !/^token /i.test(request.headers.get("authorization") ?? "")
    ) {
      return { response: Response.json({ message: "Requires authentication" }, { status: 401 }) };
    }
    const [, owner, repo, rest = ""] = /^\/repos\/([^/]+)\/([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
    const text = () => String(JSON.parse(new TextDecoder().decode(body)).body);
    const route = `${request.method} ${owner && repo ? rest.replace(/\d+/, ":n") : url.pathname}`;
    const number = Number(/\d+/.exec(rest)?.[0]);
    const comment = this.state.comments.find(({ id }) => id === number);
    const missing = Response.json({ message: "Not Found" }, { status: 404 });
    switch (route) {
      case "GET issues/:n/comments": {
        const ours = this.state.comments.filter(({ issue }) => issue === number);
        return { response: this.#page(url, ours), touched: [`pr:${number}`] };
      }
      case "POST issues/:n/comments":
        return {
          response: Response.json(this.#add(number, text(), DEFAULT_LOGIN), { status: 201 }),
          touched: [`pr:${number}`],
        };
      case "PATCH issues/comments/:n":
        if (comment === undefined) return { response: missing };
        if (comment.user.login !== DEFAULT_LOGIN) {
          return {
            response: Response.json(
              { message: "Resource not accessible by integration" },
              { status: 403 },
            ),
          };
        }
        if (comment.body !== text()) {
          comment.body = text();
          comment.updated_at = new Date().toISOString();
        }
        return { response: Response.json(comment), touched: [`pr:${comment.issue}`] };
      case "DELETE issues/comments/:n":
        if (comment === undefined) return { response: missing };
        this.state.comments = this.state.comments.filter(({ id }) => id !== number);
        return { response: new Response(null, { status: 204 }), touched: [`pr:${comment.issue}`] };
      case "GET pulls": {
        const state = url.searchParams.get("state") ?? "open";
        const pulls = Object.entries(this.state.pulls)
          .filter(([, one]) => state === "all" || one === state)
          .map(([pull, one]) => ({ number: Number(pull), state: one }));
        return { response: this.#page(url, pulls) };
      }
      default:
        return { response: missing, known: false };
    }
  }

  /**
   * @param {number} issue
   * @param {string} body
   * @param {string} login
   * @returns {Comment}
   */
  #add(issue, body, login) {
    const now = new Date().toISOString();
    const type = login.endsWith("[bot]") ? "Bot" : "User";
    const comment = {
      id: ++this.state.made,
      issue,
      body,
      user: { login, type },
      created_at: now,
      updated_at: now,
    };
    this.state.comments.push(comment);
    return comment;
  }

  /**
   * @param {URL} url
   * @param {unknown[]} items
   */
  #page(url, items) {
    const page = Math.max(1, Number(url.searchParams.get("page") ?? 1));
    const wanted = Number(url.searchParams.get("per_page") ?? PER_PAGE);
    const size = Math.max(1, Math.min(wanted, MAX_PER_PAGE, this.state.pageSize));
    const headers = new Headers();
    if (page * size < items.length) {
      const next = new URL(url);
      next.searchParams.set("page", String(page + 1));
      headers.set("link", `<${next.href}>; rel="next"`);
    }
    return Response.json(items.slice((page - 1) * size, page * size), { headers });
  }
}
