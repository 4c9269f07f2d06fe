// The secrets of a local worker: .dev.vars, which wrangler reads and git ignores.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "./places.mjs";

/** Made where they are absent: 32 random bytes as hex, fit for a token and for a key. */
const MADE = ["HOLDFAST_ADMIN_TOKEN", "HOLDFAST_SIGNING_KEY", "HOLDFAST_SECRETS_KEY"];

/**
 * Reads the secrets, having made those that are missing. Whatever else the file says is left as
 * it is, and only its owner can read it afterwards.
 *
 * @param {string} [file]
 * @returns {Record<string, string>}
 */
export function localSecrets(file = path.join(ROOT, ".dev.vars")) {
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  const secrets = parse(text);
  const missing = MADE.filter((name) => !secrets[name]);
  if (missing.length > 0) {
    for (const name of missing) secrets[name] = randomBytes(32).toString("hex");
    // An empty assignment would win over ours, or lose to it: nobody should have to know.
    const kept = text
      .split("\n")
      .filter((line) => !missing.some((name) => Object.hasOwn(parse(line), name)))
      .join("\n");
    const before = kept === "" || kept.endsWith("\n") ? kept : `${kept}\n`;
    const made = missing.map((name) => `${name}=${secrets[name]}\n`);
    const next = `${file}.${process.pid}.part`;
    fs.writeFileSync(next, before + made.join(""), { mode: 0o600 });
    fs.renameSync(next, file);
  }
  fs.chmodSync(file, 0o600);
  return secrets;
}

/**
 * `NAME=value` lines, the value in quotes or not, as dotenv takes them.
 *
 * @param {string} text
 * @returns {Record<string, string>}
 */
function parse(text) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name, raw] = /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || raw === undefined) continue;
    const [, , quoted] = /^(["'`])(.*)\1(?:\s*#.*)?$/.exec(raw) ?? [];
    found[name] = quoted ?? raw.replace(/\s*#.*$/, "");
  }
  return found;
}
