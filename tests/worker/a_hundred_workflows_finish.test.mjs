// Rule: a hundred workflows at once finish, each with its own result, more than there are permits.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, until } from "./harness.mjs";

const COUNT = 100;

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
before(async () => {
  w = await start({ vars: { HOLDFAST_PARK_MS: "100" } });
});
after(() => w.stop());

test(
  "a hundred workflows at once finish, each with its own result",
  { timeout: 280_000 },
  async () => {
    const code = `
    await tools.storage.set({ key: "n" + params.n, value: params.n });
    await sleep(1_000);
    return (await tools.storage.get({ key: "n" + params.n })).value;
  `;
    const made = await Promise.all(
      Array.from({ length: COUNT }, (_, n) =>
        w.json("/v1/workflows", { code, params: { n }, label: String(n) }, { timeoutMs: 120_000 }),
      ),
    );
    assert.deepEqual(
      made.map(({ status }) => status),
      Array(COUNT).fill(201),
    );
    const done = await until(
      "all of them",
      async () => {
        const rows = await w.d1(
          "SELECT id, status, label FROM runs WHERE status IN ('completed', 'failed', 'cancelled')",
        );
        return rows.length === COUNT && rows;
      },
      240_000,
    );
    assert.deepEqual([...new Set(done.map((/** @type {any} */ row) => row.status))], ["completed"]);
    for (const { body } of made) {
      const { result, label } = (await w.json(`/v1/runs/${body.id}`)).body;
      assert.equal(result, Number(label));
    }
    const [{ n }] = await w.d1("SELECT COUNT(*) AS n FROM workflows WHERE closed = 0");
    assert.equal(n, 0, "the engine knows of each end");
  },
);
