// What the endpoints share: refusals, pages of a list, bodies.

/** The one account of the stand-in. */
export const ACCOUNT = "00000000000000000000000000000acc";

/** A refusal in the API's own shape. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {number} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An answer whose `result_info` says which page of the list it is. */
export class Page {
  /**
   * @param {unknown[]} items
   * @param {Record<string, number>} info
   */
  constructor(items, info) {
    this.items = items;
    this.info = info;
  }
}

/**
 * The binding without what only the worker may know.
 *
 * @param {import("./cloud.mjs").Binding} binding
 * @returns {import("./cloud.mjs").Binding}
 */
export function withoutSecret(binding) {
  if (binding.type !== "secret_text") return binding;
  return { name: binding.name, type: binding.type };
}

/**
 * One page of a list, by `page` and `per_page`.
 *
 * @param {import("./cloud.mjs").Call} call
 * @param {unknown[]} items
 * @returns {Page}
 */
export function paged({ url, state }, items) {
  const page = Math.max(1, Number(url.searchParams.get("page") ?? 1));
  const wanted = Number(url.searchParams.get("per_page") ?? 20);
  const size = Math.max(1, Math.min(wanted, state.pageSize));
  const slice = items.slice((page - 1) * size, page * size);
  return new Page(slice, {
    page,
    per_page: size,
    count: slice.length,
    total_count: items.length,
    total_pages: Math.ceil(items.length / size),
  });
}

/**
 * @param {import("./cloud.mjs").Call} call
 * @returns {any}
 */
export function json({ body }) {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new Refused(400, 10021, "the body is not JSON");
  }
}
