// Splits a text of SQL into its statements, as D1 does before it runs them.

/**
 * Semicolons in strings, quoted names, comments and trigger bodies end nothing.
 *
 * @param {string} text
 * @returns {string[]} Each without its semicolon; empty ones are left out.
 */
export function split(text) {
  /** @type {string[]} */
  const statements = [];
  let start = 0;
  let depth = 0;
  let isTrigger = false;
  /** @type {string[]} */
  let words = [];
  const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[A-Za-z_][A-Za-z0-9_$]*|;/g;
  const take = (/** @type {number} */ end) => {
    const statement = text.slice(start, end);
    if (words.length > 0) statements.push(statement.trim());
    words = [];
    depth = 0;
    isTrigger = false;
  };
  for (const match of text.matchAll(token)) {
    const piece = match[0];
    if (piece === ";") {
      if (depth > 0) continue;
      take(match.index);
      start = match.index + 1;
    } else if (/^[A-Za-z_]/.test(piece)) {
      const word = piece.toUpperCase();
      words.push(word);
      if (word === "TRIGGER" && words[0] === "CREATE" && words.length <= 3) isTrigger = true;
      if (isTrigger && (word === "BEGIN" || word === "CASE")) depth += 1;
      if (isTrigger && word === "END") depth -= 1;
    }
  }
  take(text.length);
  return statements;
}
