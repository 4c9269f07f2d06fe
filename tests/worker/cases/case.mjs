// The cases as their files have them: read, checked, and nothing in them overlooked.
import fs from "node:fs";
import path from "node:path";

/**
 * @typedef {object} ExpectedLine
 * @property {string} level
 * @property {string} [text]
 * @property {string[]} [textIncludes]
 */

/**
 * @typedef {object} Expect
 * @property {"completed" | "failed"} outcome
 * @property {string} [kind]
 * @property {unknown} [value] in the files' own form
 * @property {string[]} [messageIncludes]
 * @property {ExpectedLine[]} [logs] in this order; others may stand between
 * @property {Record<string, number>} [calls]
 */

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} code
 * @property {unknown} [params]
 * @property {Record<string, import("../support/tools.js").Tool>} [tools]
 * @property {number} [budgetMs]
 * @property {Expect} expect
 * @property {string[]} [needs]
 * @property {number} [repeat]
 * @property {number} [parallel]
 * @property {boolean} [occupied]
 * @property {number} [cancelAfterMs]
 */

/** What a case may say; a field that nobody reads would be an expectation that nobody checks. */
const FIELDS = {
  case: [
    ...["name", "code", "params", "tools", "budgetMs", "expect", "needs", "repeat", "parallel"],
    ...["occupied", "cancelAfterMs", "why", "ref"],
  ],
  expect: ["outcome", "kind", "value", "messageIncludes", "logs", "calls"],
  tool: ["returns", "throws", "echo", "delayMs", "never"],
  line: ["level", "text", "textIncludes"],
};

/**
 * The files of a folder, or one file, by name.
 *
 * @param {string} place
 * @returns {{file: string, cases: Case[]}[]}
 */
export function readCases(place) {
  const files = fs.statSync(place).isDirectory()
    ? fs
        .readdirSync(place, { recursive: true })
        .map(String)
        .filter((name) => name.endsWith(".json"))
        .sort()
        .map((name) => path.join(place, name))
    : [place];
  return files.map((file) => {
    const cases = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!Array.isArray(cases)) throw new Error(`${file} is no list of cases`);
    const names = new Set();
    for (const [index, one] of cases.entries()) {
      const wrong = mistakeIn(one) ?? (names.has(one.name) ? "its name is taken" : undefined);
      if (wrong) throw new Error(`${file}: case ${index + 1} (${one?.name}): ${wrong}`);
      names.add(one.name);
    }
    return { file: path.relative(process.cwd(), file), cases };
  });
}

/**
 * @param {any} one
 * @returns {string | undefined}
 */
function mistakeIn(one) {
  if (typeof one?.name !== "string" || typeof one.code !== "string") {
    return "it has no name or code";
  }
  if (!["completed", "failed"].includes(one.expect?.outcome)) return "it expects no outcome";
  const parts = /** @type {[keyof typeof FIELDS, any][]} */ ([
    ["case", one],
    ["expect", one.expect],
    ...Object.values(one.tools ?? {}).map((tool) => ["tool", tool]),
    ...(one.expect.logs ?? []).map((/** @type {any} */ line) => ["line", line]),
  ]);
  for (const [kind, part] of parts) {
    const unknown = Object.keys(part).find((field) => !FIELDS[kind].includes(field));
    if (unknown !== undefined) return `the field ${unknown} is unknown here`;
  }
  return undefined;
}
