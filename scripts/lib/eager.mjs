// The functions of the harness that V8 is to compile with the module.
//
// V8 skims a function when it meets it and parses it again when it is called; one that stands in
// parentheses it compiles at once. A fresh sub-worker calls some hundred functions of the harness
// once, so those that an ordinary run calls are put into parentheses. Which they are is measured: the
// harness runs a program in Node, whose coverage says what was called.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Refusal, childEnv, run } from "./command.mjs";

/** What an ordinary program does: it calls a tool and ends. */
const PROGRAM = `export default (guard, { tools }) => async () => tools.a.b({ n: 1 });`;

const INVOCATION = {
  runId: "run",
  surface: "execute",
  params: {},
  budgetMs: 1000,
  seed: "0".repeat(64),
  limits: {
    argumentBytes: 1000,
    resultBytes: 1000,
    logBytes: 1000,
    logLines: 10,
    logLineBytes: 100,
  },
  export: null,
  parkMs: null,
  journal: null,
};

/** @param {string} text */
const asModule = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

const HOOKS = `
const MODULES = {
  "cloudflare:workers": ${JSON.stringify(asModule("export class WorkerEntrypoint {}"))},
  "program.js": ${JSON.stringify(asModule(PROGRAM))},
};
export const resolve = (name, context, next) =>
  name in MODULES ? { url: MODULES[name], shortCircuit: true } : next(name, context);`;

/** Runs the harness that its argument names; prints how the program ended. */
const RUN = `
import { register } from "node:module";
register(${JSON.stringify(asModule(HOOKS))});
const { default: Sandbox } = await import(process.argv[1]);
const end = await new Sandbox().evaluate(${JSON.stringify(JSON.stringify(INVOCATION))}, async () => '{"value":1}');
process.stdout.write(end);`;

/**
 * The module, with the functions of its top level that a run calls in parentheses.
 *
 * @param {string} text the bundled harness
 * @returns {Promise<string>}
 */
export async function compiledEagerly(text) {
  const { parse } = await import("@babel/parser"); // not before the set-up
  const called = await calledIn(text);
  /** @param {{start?: number | null, end?: number | null}} node */
  const of = ({ start, end }) => text.slice(start ?? 0, end ?? 0);
  /** @param {{start?: number | null, generator?: boolean | null}} node */
  const isCalled = ({ start, generator }) => !generator && called.has(start ?? 0);
  let imports = "";
  let functions = "";
  let rest = "";
  for (const node of parse(text, { sourceType: "module" }).program.body) {
    if (node.type === "ImportDeclaration") {
      imports += of(node);
    } else if (node.type === "FunctionDeclaration" && isCalled(node) && node.id) {
      // A declaration is there from the start, and so is what it becomes.
      const head = node.async ? "async function" : "function";
      const tail = text.slice(node.id.end ?? 0, node.end ?? 0);
      functions += `var ${node.id.name}=(${head}${tail});`;
    } else if (node.type === "VariableDeclaration") {
      const list = node.declarations.map(({ id, init }) => {
        if (!init) return of(id);
        const eager = init.type === "ArrowFunctionExpression" && isCalled(init);
        return `${of(id)}=${eager ? `(${of(init)})` : of(init)}`;
      });
      rest += `${node.kind} ${list.join(",")};`;
    } else {
      rest += of(node);
    }
  }
  return imports + functions + rest;
}

/**
 * Where the functions of the module are that a run calls, by their start.
 *
 * @param {string} text
 * @returns {Promise<Set<number>>}
 */
async function calledIn(text) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-harness-")));
  try {
    const { href } = pathToFileURL(path.join(folder, "harness.mjs"));
    fs.writeFileSync(new URL(href), text);
    const coverage = path.join(folder, "coverage");
    const ran = await run(process.execPath, ["--input-type=module", "--eval", RUN, href], {
      env: childEnv({ NODE_V8_COVERAGE: coverage }),
      timeoutMs: 30_000,
    });
    if (!ran.ok || !ran.text.includes('"end":"finished"')) {
      throw new Refusal(`The harness does not run in Node:\n${ran.text}`);
    }
    const scripts = fs
      .readdirSync(coverage)
      .flatMap((name) => JSON.parse(fs.readFileSync(path.join(coverage, name), "utf8")).result);
    /** @type {{functions: {ranges: {startOffset: number, endOffset: number, count: number}[]}[]}} */
    const script = scripts.find((one) => one.url === href);
    const called = script.functions.filter(({ ranges: [whole] }) => (whole?.count ?? 0) > 0);
    return new Set(called.map(({ ranges: [whole] }) => whole?.startOffset ?? 0));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}
