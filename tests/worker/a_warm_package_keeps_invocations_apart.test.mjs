// Rule: a package's isolate is kept and serves many invocations, also at once; none sees another's
// parameters, and no principal another's isolate.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./harness.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
const CODE = {
  modules: {
    "a.js": `
export const warm = () => (globalThis.count = (globalThis.count ?? 0) + 1);
export const apart = async ({ n }) => {
  const before = params.n;
  await sleep(n % 7);
  await storage.get({ key: String(n) });
  console.log(n);
  return [n, before, params.n, Math.random()];
};
export const empty = () => null;`,
  },
};
before(async () => {
  w = await start();
  await w.json("/v1/packages/warm", CODE, { method: "PUT" });
});
after(() => w.stop());

const invoke = async (/** @type {string} */ name, params = {}, init = {}) => {
  const { body } = await w.json(`/v1/packages/warm/${name}`, { params }, init);
  assert.equal(body.status, "completed", JSON.stringify(body));
  return body;
};

test("the isolate is kept", async () => {
  const counts = [];
  for (let i = 0; i < 5; i++) counts.push((await invoke("warm")).result);
  assert.deepEqual(counts, [1, 2, 3, 4, 5]);
});

test("another principal, version or deploy has another isolate", async () => {
  const made = await w.json("/v1/tokens", {
    label: "b",
    scopes: ["packages", "execute"],
    principal: "ben",
  });
  const init = { token: made.body.token };
  await w.json("/v1/packages/warm", CODE, { method: "PUT", ...init });
  assert.equal((await invoke("warm", {}, init)).result, 1);
});

test(
  "a thousand invocations, twenty at once, do not see each other",
  { timeout: 300_000 },
  async () => {
    const seen = new Set();
    for (let round = 0; round < 50; round++) {
      const runs = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const n = round * 20 + index;
          const run = await invoke("apart", { n });
          assert.deepEqual(run.result.slice(0, 3), [n, n, n]);
          assert.deepEqual(
            run.logs.map((/** @type {any} */ line) => line.text),
            [String(n)],
          );
          return run.result[3];
        }),
      );
      for (const random of runs) seen.add(random);
    }
    assert.equal(seen.size, 1000, "each has its own randomness");
  },
);
