// Who may see a stand-in's state, and whose it is.
//
// Each token has a state of its own. With a token configured, only that one is let in; without
// one the stand-in is open, and requests without a token share the state "open".

/**
 * The token of a request: bearer, `X-Mocks-Token`, `?mocks_token=`, or the cookie `mocks_token`.
 *
 * @param {Request} request
 * @returns {string | undefined}
 */
export function tokenOf(request) {
  const bearer = /^Bearer\s+(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (bearer) return bearer;
  const header = request.headers.get("x-mocks-token");
  if (header) return header;
  const query = new URL(request.url).searchParams.get("mocks_token");
  if (query) return query;
  return /(?:^|;\s*)mocks_token=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1];
}

/**
 * The name of the state that a request is about: a hash, so that no token is stored.
 *
 * @param {string | undefined} token
 * @returns {Promise<string>}
 */
export async function stateName(token) {
  if (token === undefined) return "open";
  return [...(await hash(token))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Whether the request may go on. `meta` stays open, without its numbers.
 *
 * @param {Request} request
 * @param {string | undefined} required
 * @returns {Promise<Response | undefined>} The refusal.
 */
export async function refuse(request, required) {
  if (!required) return undefined;
  const given = tokenOf(request);
  if (given !== undefined && same(await hash(given), await hash(required))) return undefined;
  if (new URL(request.url).pathname === "/__mocks/meta") {
    return Response.json({ authorized: false });
  }
  return Response.json(
    { error: "this stand-in wants its token: as bearer, X-Mocks-Token, ?mocks_token= or a cookie" },
    { status: 401, headers: { "www-authenticate": "Bearer" } },
  );
}

/** @param {string} text */
async function hash(text) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/**
 * Compares two hashes; how long it takes says nothing about them.
 *
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
function same(left, right) {
  let difference = 0;
  left.forEach((byte, index) => (difference |= byte ^ (right[index] ?? 0)));
  return difference === 0;
}
