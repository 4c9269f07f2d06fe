// The least that makes a program of a function body: a stand-in for `code::prepare`, for tests only. It knows
// no syntax; ticks go where a loop or an arrow is written in the plainest way.

export const AMBIENT = "tools, params, sleep, step, emit, storage, packages, workflows, run";

/** A body as `program.js`, on the lines that it has. */
export const asProgram = (/** @type {any} */ body) =>
  `export default (guard, { ${AMBIENT} }) => async () => { ${body}\n};\n`;

const TICK = "--guard.n<0&&guard.t();";

/** The same with ticks in loops and handlers. */
export const guarded = (/** @type {any} */ body) =>
  asProgram(
    body
      .replace(
        /\b(while|for) \(([^()]|\([^()]*\))*\) \{/g,
        (/** @type {any} */ head) => `${head}${TICK}`,
      )
      .replace(
        /\b((?:while|for) \([^()]*\)) (?![{])([^\n;]*;)/g,
        (/** @type {any} */ _, /** @type {any} */ head, /** @type {any} */ statement) =>
          `${head} {${TICK}${statement}}`,
      )
      .replace(/\b(catch(?: \(\w+\))?|finally) \{/g, (/** @type {any} */ head) => `${head}${TICK}`)
      .replace(/=> \{/g, (/** @type {any} */ head) => `${head}${TICK}`),
  );
