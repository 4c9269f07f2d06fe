// Random programs: trees of statements, their source, and everything that is one step smaller.
import { seeded } from "./simulation.mjs";

const TOOLS = [
  "read",
  "read",
  "slow",
  "bad",
  "write",
  "write",
  "wfail",
  "gated",
  "gated",
  "gated",
  "gfail",
  "blocked",
];
const ARGUMENTS = ["s", "s++", "1", "2", "R()", "D()", "E()", "U()", "{ s, k: 1 }", "log('arg')"];
const DELAYS = [0, 0, 1, 5, 10, 50, 100, 100, 300, 900, 2500, 5000];
const JOINS = ["all", "all", "race", "race", "any", "allSettled"];

/** @param {number} seed @returns {any[]} */
export function generate(seed) {
  const random = seeded(seed ^ 0x5bd1e995);
  const pick = (/** @type {number} */ n) => Math.floor(random() * n);
  const one = (/** @type {any[]} */ list) => list[pick(list.length)];
  let left = 4 + pick(seed % 4 ? 20 : 60);

  const body = (/** @type {number} */ depth) => {
    const out = [];
    for (let n = 1 + pick(depth > 2 ? 2 : 4); n > 0 && left > 0; n--) out.push(statement(depth));
    return out;
  };
  const branch = (/** @type {number} */ depth) => {
    left--;
    const kind = pick(depth > 2 ? 4 : 6);
    if (kind < 2) return { is: "branchCall", tool: one(TOOLS), argument: one(ARGUMENTS) };
    if (kind === 2) return { is: "branchSleep", ms: one(DELAYS) };
    if (kind === 3) return { is: "branchOperation" };
    return { is: "block", body: body(depth + 1) };
  };

  /** @param {number} depth @returns {any} */
  function statement(depth) {
    left--;
    if (pick(14) === 0) return { is: "step", body: pick(2) ? body(depth + 1) : [] };
    const kind = pick(depth > 2 ? 16 : 26);
    if (kind < 5) {
      return {
        is: "call",
        tool: one(TOOLS),
        argument: one(ARGUMENTS),
        wrap: one(["", "", "try", "try", "catch"]),
      };
    }
    if (kind < 7) return { is: "log", of: one(["s", "R()", "D()", "E()", "U()", "B()", "s++"]) };
    if (kind === 7) return { is: "sleep", ms: one(DELAYS) };
    if (kind === 8) return { is: "microtasks", n: 1 + pick(4) };
    if (kind === 9) return { is: "queueMicrotask" };
    if (kind === 10) {
      return {
        is: "unawaited",
        tool: one(TOOLS),
        argument: one(ARGUMENTS),
        wrap: one(["", "catch", "then"]),
      };
    }
    if (kind === 11) return { is: "operation" };
    if (kind === 12) return { is: "throwIf", of: one(["R() < 0.3", "s % 4 === 3", "D() % 2"]) };
    if (kind === 13) {
      return {
        is: "timer",
        ms: one(DELAYS),
        body: [{ is: "log", of: "s++" }],
        clear: one([null, null, one(DELAYS)]),
        tool: one([null, one(TOOLS)]),
      };
    }
    if (kind === 14) {
      return {
        is: "interval",
        ms: 1 + one(DELAYS),
        times: 1 + pick(4),
        tool: one([null, null, one(TOOLS)]),
      };
    }
    if (kind === 15) return { is: "abort", ms: one(DELAYS) };
    if (kind < 21) {
      const of = Array.from({ length: 2 + pick(3) }, () => branch(depth + 1));
      return { is: "join", how: one(JOINS), of, wrap: pick(3) > 0 ? "try" : "" };
    }
    if (kind === 21) {
      return {
        is: "if",
        of: one(["R() < 0.5", "s % 2", "D() % 2", "last % 2"]),
        yes: body(depth + 1),
        no: body(depth + 1),
      };
    }
    if (kind === 22) return { is: "for", n: 2 + pick(2), body: body(depth + 1) };
    if (kind === 23) return { is: "fork", body: body(depth + 1) };
    if (kind === 24) return { is: "timeout", ms: one(DELAYS), of: [branch(depth + 1)] };
    return { is: "try", body: body(depth + 1) };
  }

  const main = [];
  while (left > 0) main.push(statement(0));
  if (random() < 0.1) main.push({ is: "throwIf", of: "true" });
  return main;
}

/** @param {any[]} main @returns {string} */
export function source(main) {
  let names = 0;
  const all = (/** @type {any[]} */ body) => body.map(statement).join("");
  const guarded = (/** @type {string} */ text, /** @type {string} */ wrap) =>
    wrap === "try" ? `try { ${text} } catch (e) { log("caught " + e.message); }\n` : `${text}\n`;

  /** @param {any} it @returns {string} */
  function expression(it) {
    switch (it.is) {
      case "branchCall":
        return `t.${it.tool}(${it.argument})`;
      case "branchSleep":
        return `sleep(${it.ms}).then(() => s++)`;
      case "branchOperation":
        return "operation(s)";
      default:
        return `(async () => { ${all(it.body)} return s; })()`;
    }
  }

  /** @param {any} it @returns {string} */
  function statement(it) {
    const v = `v${names++}`;
    switch (it.is) {
      case "call": {
        const caught =
          it.wrap === "catch" ? '.catch((e) => { log("c " + e.name); return 0; })' : "";
        return guarded(
          `last = await t.${it.tool}(${it.argument})${caught}; s++; log("${it.tool} " + last);`,
          it.wrap,
        );
      }
      case "step":
        return `log("st " + await step("n", async () => { ${all(it.body)} return N(); }).catch((e) => e.message));\n`;
      case "log":
        return `log(${it.of});\n`;
      case "sleep":
        return `await sleep(${it.ms}); log("slept " + s);\n`;
      case "microtasks":
        return `for (let i = 0; i < ${it.n}; i++) await null; log("m " + s++);\n`;
      case "queueMicrotask":
        return 'queueMicrotask(() => log("q " + s++));\n';
      case "unawaited": {
        /** @type {Record<string, string>} */
        const handlers = {
          "": "",
          then: '.then((x) => log("u " + x + s++))',
          catch: '.catch((e) => log("u " + e.name + s++))',
        };
        return `t.${it.tool}(${it.argument})${handlers[it.wrap]};\n`;
      }
      case "operation":
        return 'log("op " + await operation(s++));\n';
      case "throwIf":
        return `if (${it.of}) throw new Error("thrown " + s);\n`;
      case "timer": {
        const call =
          it.tool === null
            ? ""
            : `t.${it.tool}(s).then((x) => log("tm " + x), (e) => log("tm " + e.name));`;
        const clear =
          it.clear === null
            ? ""
            : ` setTimeout(() => { clearTimeout(${v}); log("cleared"); }, ${it.clear});`;
        return `const ${v} = setTimeout(() => { ${all(it.body)} ${call} }, ${it.ms});${clear}\n`;
      }
      case "interval": {
        const call =
          it.tool === null
            ? ""
            : `t.${it.tool}(c).then((x) => log("iv " + x), (e) => log("iv " + e.name));`;
        return `{ let c = 0; const ${v} = setInterval(() => { log("i " + s++ + " " + E()); ${call} if (++c >= ${it.times}) clearInterval(${v}); }, ${it.ms}); }\n`;
      }
      case "abort":
        return `{ const c = new AbortController(); c.signal.addEventListener("abort", () => log("abort " + s++)); setTimeout(() => c.abort(), ${it.ms}); }\n`;
      case "join":
        return guarded(
          `const ${v} = await Promise.${it.how}([${it.of.map(expression).join(", ")}]); log("${it.how} " + JSON.stringify(${v}) + s++);`,
          it.wrap,
        );
      case "if":
        return `if (${it.of}) { ${all(it.yes)} } else { ${all(it.no)} }\n`;
      case "for":
        return `for (let i${v} = 0; i${v} < ${it.n}; i${v}++) { ${all(it.body)} }\n`;
      case "fork":
        return `(async () => { ${all(it.body)} })().catch((e) => log("f " + e.message));\n`;
      case "timeout":
        return `log("to " + await Promise.race([Promise.resolve(${expression(it.of[0])}).catch((e) => e.name), new Promise((r) => setTimeout(r, ${it.ms}, "late"))]) + s++);\n`;
      default:
        return `try { ${all(it.body)} } catch (e) { log("t " + e.message); }\n`;
    }
  }
  return `let s = 0, last = 0;\n${all(main)}return { s, last };`;
}

const AsyncFunction = /** @type {any} */ (async () => {}).constructor;
const NAMES = [
  "t",
  "log",
  "sleep",
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "step",
  "operation",
  "R",
  "D",
  "E",
  "U",
  "B",
  "N",
];

/**
 * The program as a factory. In a worker its names are the real globals; here they are given.
 *
 * @param {string} text
 */
export function compile(text) {
  const body = new AsyncFunction(...NAMES, text);
  return (/** @type {any} */ runtime, /** @type {any} */ ambient, /** @type {any} */ operation) => {
    const log = (/** @type {any} */ value) => {
      runtime.console.log(value);
      return value ?? null;
    };
    const { tools, sleep, setTimeout, clearTimeout, setInterval, clearInterval, step } = runtime;
    const { random } = ambient;
    return body(
      tools,
      log,
      sleep,
      setTimeout,
      clearTimeout,
      setInterval,
      clearInterval,
      step,
      operation,
      () => random.float(),
      () => ambient.date(),
      () => ambient.now(),
      () => random.uuid(),
      () => [...random.fill(new Uint8Array(3))].join("."),
      Math.random,
    );
  };
}

/** Every program that is this one with one thing taken away. @param {any[]} main @returns {Generator<any[]>} */
export function* smaller(main) {
  for (let i = 0; i < main.length; i++) {
    const it = main[i];
    const swap = (/** @type {any[]} */ ...by) => main.toSpliced(i, 1, ...by);
    yield swap();
    for (const key of ["body", "yes", "no"]) {
      if (!it[key]?.length) continue;
      yield swap(...it[key]);
      for (const less of smaller(it[key])) yield swap({ ...it, [key]: less });
    }
    for (let j = 0; j < (it.of?.length ?? 0) && Array.isArray(it.of); j++) {
      if (it.of.length > 1 && it.is === "join") yield swap({ ...it, of: it.of.toSpliced(j, 1) });
      if (it.of[j].is !== "block") continue;
      for (const less of smaller(it.of[j].body)) {
        yield swap({ ...it, of: it.of.toSpliced(j, 1, { ...it.of[j], body: less }) });
      }
    }
    if (it.tool && it.is !== "call" && it.is !== "unawaited") yield swap({ ...it, tool: null });
    if (it.argument && it.argument !== "1") yield swap({ ...it, argument: "1" });
    if (it.wrap) yield swap({ ...it, wrap: it.is === "unawaited" ? "catch" : "" });
    if (it.ms > 1) yield swap({ ...it, ms: 1 });
  }
}
