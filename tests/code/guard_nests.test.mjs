// The rule: any nest of loops, jumps and handlers takes the same way with the guard as without.
// Programs are random but repeatable; each logs the way it took, and stops itself after some steps.
import assert from "node:assert/strict";
import test from "node:test";
import { createGuard } from "./guard.mjs";
import { prepareAll } from "./prepare.mjs";

function program(seed) {
  let state = (seed * 2654435761) >>> 0 || 1,
    names = 0;
  const below = (n) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % n;
  };
  const log = () => `p(${below(1000)});`;
  function statement(depth, loops, labels, inFunction) {
    const id = names++,
      inner = (more, l = labels) => block(depth - 1, loops + more, l, inFunction);
    const jump = () => {
      const ways = ["", "throw 1;"];
      if (inFunction) ways.push("return 7;");
      if (loops) ways.push("break;", "continue;", "break;", "continue;");
      for (const l of labels) {
        ways.push(`break ${l.name};`);
        if (l.loop) ways.push(`continue ${l.name};`);
      }
      return `if (q(${2 + below(4)})) ${ways[below(ways.length)] || ";"}`;
    };
    if (depth <= 0) return below(2) ? log() : jump();
    const count = [2, 3, 40, 130, 1100][below(5)];
    switch (below(14)) {
      case 0:
        return `for (let i${id} = 0; i${id} < ${count}; i${id}++) ${inner(1)}`;
      case 1:
        return `let j${id} = ${count}; while (j${id}--) ${inner(1)}`;
      case 2:
        return `let k${id} = 0; do ${inner(1)} while (++k${id} < ${count})`;
      case 3:
        return `for (const x${id} of [1, 2, 3]) ${inner(1)}`;
      case 4:
        return `L${id}: for (let i = 0; i < ${count}; i++) ${inner(1, [...labels, { name: `L${id}`, loop: true }])}`;
      case 5:
        return `B${id}: ${inner(0, [...labels, { name: `B${id}` }])}`;
      case 6:
        return `try ${inner(0)} catch { ${log()} ${jump()} }`;
      case 7:
        return `try ${inner(0)} finally { ${log()} }`;
      case 8:
        return `if (q(2)) ${inner(0)} else ${inner(0)}`;
      case 9:
        return `function f${id}(a) ${block(depth - 1, 0, [], true)} f${id}(1);`;
      case 10:
        return `p((() => ${below(2) ? "q(3)" : `{ ${block(depth - 1, 0, [], true)} }`})());`;
      case 11:
        return `let s${id} = 0; for (let i = 0; i < ${count * 3}; i++) s${id} += i & 3; p(s${id});`;
      case 12:
        return `for (let i = 0, e = ${count}; ;) { if (i++ > e) break; ${jump()} n++; if (n > 9000) throw 0; }`;
      default:
        return jump() + log();
    }
  }
  function block(depth, loops, labels, inFunction) {
    let text = "{ ";
    for (let i = 1 + below(3); i > 0; i--)
      text += statement(depth, loops, labels, inFunction) + (below(3) ? " " : "\n");
    return text + "}";
  }
  return block(4, 0, [], true);
}

/** @param {string} module */
const body = (module) => module.replace(/^export default /, "return ");

/**
 * The way a program takes: what it logs, and how it ends.
 * @param {string} module
 * @param {object} guard
 */
async function way(module, guard) {
  /** @type {unknown[]} */
  const log = [];
  let n = 0;
  const p = (/** @type {unknown} */ x) => {
    log.push(x);
    if (log.length > 3000) throw "stop";
  };
  const q = (/** @type {number} */ k) => {
    n++;
    if (n > 9000) throw "stop";
    return ((n * 7919) >> 3) % k === 0;
  };
  const factory = new Function(`"use strict"; ${body(module)}`)();
  try {
    log.push(["returned", await factory(guard, { p, q })()]);
  } catch (e) {
    log.push(["threw", String(e)]);
  }
  return JSON.stringify(log);
}

test("random nests take the same way", async () => {
  const sources = Array.from({ length: 3000 }, (_, i) => `let n = 0; ${program(i + 1)}`);
  const answers = prepareAll(
    sources.flatMap((source) => [
      { source, ambient: ["p", "q"] },
      { source, ambient: ["p", "q"], guard: true },
    ]),
  );
  let compared = 0;
  let chunked = 0;
  for (const [i, source] of sources.entries()) {
    const [plain, guarded] = answers.slice(2 * i, 2 * i + 2);
    assert.ok(guarded.module, JSON.stringify(guarded.refusal) + source);
    // A handler that swallows "stop" can make a program endless: those are found under the guard first.
    const { guard, failed } = createGuard({ budgetMs: 400 });
    const taken = await way(guarded.module, guard);
    if (failed()) continue;
    assert.equal(taken, await way(plain.module, {}), `${source}\n${guarded.module}`);
    assert.equal(guarded.module.split("\n").length, source.split("\n").length + 1);
    compared++;
    if (guarded.module.includes("$l=")) chunked++;
  }
  assert.ok(compared > 2000 && chunked > 750, `${compared} compared, ${chunked} with chunks`);
});
