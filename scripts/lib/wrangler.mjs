// What we ask of wrangler for the embedded database and the local server.
import fs from "node:fs";
import path from "node:path";
import { Refusal, childEnv, run } from "./command.mjs";
import { NODE_BIN, ROOT } from "./places.mjs";
import { V8_FLAGS } from "./workerd.mjs";

/** wrangler, started by the pinned Node: the machine's may be too old for it. */
export const WRANGLER = [
  path.join(NODE_BIN, "node"),
  path.join(ROOT, "node_modules", "wrangler", "bin", "wrangler.js"),
];

/**
 * The environment of a wrangler that works on this checkout alone: what it notes for itself stays
 * in the checkout, and no other wrangler on the machine hears of our worker.
 *
 * @param {NodeJS.ProcessEnv} [more]
 */
export function wranglerEnv(more = {}) {
  const own = path.join(ROOT, ".wrangler");
  return childEnv({
    WRANGLER_LOG_PATH: path.join(own, "logs"),
    WRANGLER_REGISTRY_PATH: path.join(own, "registry"),
    ...V8_FLAGS,
    ...more,
  });
}

/**
 * Applies the migrations that the embedded D1 has not seen.
 *
 * @param {string} state where it lives
 * @returns {Promise<string[]>} names of those applied
 */
export async function migrate(state) {
  const folder = path.join(ROOT, "migrations");
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  if (!files.some((name) => name.endsWith(".sql"))) return [];
  const [node = "", ...wrangler] = WRANGLER;
  const applied = await run(
    node,
    [...wrangler, "d1", "migrations", "apply", "DB", "--local", "--persist-to", state],
    { env: wranglerEnv({ CI: "true" }) }, // it asks for no confirmation
  );
  if (!applied.ok) throw new Refusal(`The migrations could not be applied:\n${applied.text}`);
  // Its table is printed anew after each one.
  const names = [...applied.text.matchAll(/(\d+_\S+\.sql)\s*│\s*✅/g)].map(([, name]) =>
    String(name),
  );
  return [...new Set(names)];
}
