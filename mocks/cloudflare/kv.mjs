// KV namespaces and their keys.
import { Refused, json, paged } from "./api.mjs";

const ROOT = "/accounts/:account/storage/kv/namespaces";

/**
 * @param {import("./cloud.mjs").Call} call
 * @returns {import("./cloud.mjs").Namespace}
 */
function namespaceOf({ state, args, touch }) {
  const namespace = state.namespaces[args[0] ?? ""];
  if (namespace === undefined) {
    throw new Refused(404, 10013, `list keys: 'namespace not found' (${args[0]})`);
  }
  touch(`kv:${namespace.title}`);
  return namespace;
}

/** @param {import("./cloud.mjs").Namespace} namespace */
const shown = ({ id, title }) => ({ id, title, supports_url_encoding: true });

/** @type {import("./cloud.mjs").Endpoint[]} */
export const kv = [
  ["GET", ROOT, (call) => paged(call, Object.values(call.state.namespaces).map(shown))],
  [
    "POST",
    ROOT,
    (call) => {
      const title = String(json(call).title ?? "");
      call.touch(`kv:${title}`);
      if (title === "") throw new Refused(400, 10019, "a namespace needs a title");
      if (Object.values(call.state.namespaces).some((namespace) => namespace.title === title)) {
        throw new Refused(400, 10014, "a namespace with this account ID and title already exists");
      }
      const id = call.cloud.uuid().replaceAll("-", "");
      const namespace = { id, title, keys: {} };
      call.state.namespaces[id] = namespace;
      return shown(namespace);
    },
  ],
  ["GET", `${ROOT}/:id`, (call) => shown(namespaceOf(call))],
  [
    "DELETE",
    `${ROOT}/:id`,
    (call) => {
      delete call.state.namespaces[namespaceOf(call).id];
    },
  ],
  [
    "GET",
    `${ROOT}/:id/keys`,
    (call) => Object.keys(namespaceOf(call).keys).map((name) => ({ name })),
  ],
  [
    "GET",
    `${ROOT}/:id/values/:key`,
    (call) => {
      const value = namespaceOf(call).keys[call.args[1] ?? ""];
      if (value === undefined) throw new Refused(404, 10009, "get: 'key not found'");
      return new Response(value);
    },
  ],
  [
    "PUT",
    `${ROOT}/:id/values/:key`,
    (call) => {
      namespaceOf(call).keys[call.args[1] ?? ""] = new TextDecoder().decode(call.body);
    },
  ],
  [
    "DELETE",
    `${ROOT}/:id/values/:key`,
    (call) => {
      delete namespaceOf(call).keys[call.args[1] ?? ""];
    },
  ],
];
