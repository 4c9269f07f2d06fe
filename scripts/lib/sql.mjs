// SQL text to its statements.
//
// D1 prepares one statement at a time, and its `exec` takes none that spans lines (platform:
// tests/worker/harness.mjs applies migrations with `batch`).

/** What hides a semicolon: strings, quoted names and comments; or a word; or any character. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?\*\/|\w+|[^]/g;

/**
 * Splits a file of SQL at the semicolons that end a statement; those inside of a trigger's
 * BEGIN … END do not. Comments are left out.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function statements(text) {
  /** @type {string[]} */
  const found = [];
  let statement = "";
  let depth = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token.startsWith("--") || token.startsWith("/*")) {
      statement += " ";
      continue;
    }
    if (/^create\s+(temp\w*\s+)?trigger\b/i.test(statement.trimStart())) {
      if (/^(begin|case)$/i.test(token)) depth += 1;
      if (/^end$/i.test(token)) depth -= 1;
    }
    if (token === ";" && depth === 0) {
      if (statement.trim() !== "") found.push(statement.trim());
      statement = "";
    } else {
      statement += token;
    }
  }
  if (statement.trim() !== "") found.push(statement.trim());
  return found;
}
