// Rule: the functions at the top of the bundled harness that a run calls are compiled with the module, and those alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compiledEagerly } from "../../scripts/lib/eager.mjs";

const BUNDLE = [
  `import{WorkerEntrypoint as W}from"cloudflare:workers";`,
  `var early=declared(),arrow=(e,h)=>h(e),idle=()=>2,program=()=>import("program.js");`,
  `function declared(){return 1}function rare(){return 3}`,
  `async function end(e,h){await arrow(e,h);await(await program()).default(null,{tools:{a:{b(){}}}})();return'{"end":"finished"}'}`,
  `var S=class extends W{evaluate(e,h){return end(e,h)}};export{S as default};`,
];

test("what a run calls stands in parentheses, and the rest as it was", async () => {
  const text = await compiledEagerly(BUNDLE.join(""));
  assert.equal(
    text,
    [
      BUNDLE[0],
      "var declared=(function(){return 1});",
      BUNDLE[3]?.replace("async function end", "var end=(async function").concat(");"),
      `var early=declared(),arrow=((e,h)=>h(e)),idle=()=>2,program=(()=>import("program.js"));`,
      "function rare(){return 3}",
      BUNDLE[4],
    ].join(""),
  );
});

test("a harness that does not end its run is refused", async () => {
  const broken = BUNDLE.join("").replace("finished", "threw");
  await assert.rejects(compiledEagerly(broken), /does not run in Node:[^]*threw/);
});
