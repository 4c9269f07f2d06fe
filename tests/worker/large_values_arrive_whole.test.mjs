// Texts that are long enough to be read by the platform and not by the binding arrive as they were, be
// they ASCII or not: results, arguments and answers, and what is stored of them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let worker;
before(async () => {
  worker = await start();
});
after(() => worker.stop());

/** @param {string} code */
async function run(code) {
  const { status, body } = await worker.json("/v1/runs", { code });
  assert.equal(status, 200, JSON.stringify(body).slice(0, 500));
  assert.equal(body.status, "completed", JSON.stringify(body).slice(0, 500));
  return body;
}

/** Written into programs as they are. @type {Record<string, string>} */
const TEXTS = {
  ASCII: `"x".repeat(200_000)`,
  "two bytes a unit": `"é".repeat(200_000)`,
  "three bytes a unit": `"一".repeat(200_000)`,
  "pairs of surrogates": `"😀".repeat(100_000)`,
  "all of them, behind ASCII": `"x".repeat(100_001) + "é一😀x".repeat(20_000)`,
  "what JSON escapes": `"\\n\\"\\\\\\u0000$".repeat(30_000)`,
  "just long": `"x".repeat(1_023) + "é"`,
};

for (const [name, text] of Object.entries(TEXTS)) {
  test(name, async () => {
    const expected = new Function(`return ${text}`)();
    const ended = await run(`return { text: ${text}, $: 1 };`);
    assert.ok(ended.result.text === expected && ended.result.$ === 1);
    const stored = await worker.json(`/v1/runs/${ended.id}`);
    assert.ok(stored.body.result.text === expected);
    const { result } = await run(`
      const value = { text: ${text}, set: new Set([1]), $: [undefined] };
      await storage.set({ key: "large", value });
      const { value: back } = await storage.get({ key: "large" });
      return [back.text === value.text, back.set.has(1), back.$.length, back.$[0] === undefined];`);
    assert.deepEqual(result, [true, true, 1, true]);
  });
}

test("a lone surrogate becomes U+FFFD", async () => {
  const { result } = await run(`return "x".repeat(2_000) + "\\ud83d" + "é".repeat(2_000);`);
  assert.ok(result === `${"x".repeat(2_000)}\ufffd${"é".repeat(2_000)}`);
});
