// Rule: a workflow survives the death of the process between any two of its steps, in each of its sleeps
// and while a person is asked. Every effect is made once, and the outcome is that of a workflow whose
// process lived.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startProcess, until } from "./harness.mjs";

const STEPS = 20;
const SLEEPS = [4, 9, 14];
const ASKS = 12;

/** Sleeps of hours, scaled down: what parks is over 1 s. */
const VARS = { HOLDFAST_PARK_MS: "1000", HOLDFAST_WORKFLOW_BACK_OFF_MS: "50" };
const SLEEP_MS = 1_500;

const PROGRAM = `
  const go = async (k) => {
    console.log("at " + k);
    while (!((await tools.storage.get({ key: "go" })).value >= k)) await sleep(200);
  };
  for (let k = 0; k < ${STEPS}; k++) {
    await tools.http.fetch({ url: params.origin + "/" + k, method: "POST" });
    await go(k);
    if (${JSON.stringify(SLEEPS)}.includes(k)) {
      await sleep(${SLEEP_MS});
      console.log("slept " + k);
    }
    if (k === ${ASKS}) await tools.storage.delete({ key: "asked" });
  }
  return "done";
`;

/**
 * Every lease runs out at once, as it would by itself within 30 seconds.
 *
 * @param {string} state
 */
function expireLeases(state) {
  const folder = path.join(state, "v3", "d1", "miniflare-D1DatabaseObject");
  const files = fs.readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  assert.equal(files.length, 1, files.join(", "));
  const database = new DatabaseSync(path.join(folder, files[0] ?? ""));
  database.exec("UPDATE runs SET lease_until = 1 WHERE status = 'running'");
  database.close();
}

test(
  "twenty steps, three sleeps and an approval survive a kill at each of them",
  { timeout: 290_000 },
  async (t) => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"));
    /** @type {string[]} */
    const hits = [];
    const server = createServer((request, response) => {
      hits.push(request.url ?? "");
      response.end("done");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const options = { state, vars: { ...VARS, HOLDFAST_HTTP_HOSTS: origin } };
    let w = await startProcess(options);
    t.after(async () => {
      await w.stop();
      server.closeAllConnections();
      server.close();
      fs.rmSync(state, { recursive: true, force: true });
    });
    let kills = 0;
    const kill = async () => {
      await w.kill();
      kills++;
      expireLeases(state);
      w = await startProcess(options);
    };
    /** @param {string[]} scopes */
    const token = async (scopes) => {
      const answer = await w.json("/v1/tokens", { label: "t", principal: "durable", scopes });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body.token;
    };
    const agent = await token(["execute", "runs"]);
    const person = await token(["approve"]);
    const keeper = await token(["policies"]);
    const rules = [{ pattern: "storage.delete", action: "ask" }];
    const put = await w.json("/v1/policies", { rules }, { method: "PUT", token: keeper });
    assert.equal(put.status, 200, JSON.stringify(put.body));
    const body = { code: PROGRAM, params: { origin } };
    const made = await w.json("/v1/workflows", body, { token: agent });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const place = `/v1/workflows/${made.body.id}`;
    let last = made.body;
    /** @param {string} what @param {(run: any) => boolean} so */
    const waits = (what, so) =>
      until(
        what,
        async () => {
          last = (await w.json(place, undefined, { token: agent })).body;
          return so(last);
        },
        30_000,
      ).catch((error) => {
        throw new Error(`${error.message}: ${JSON.stringify(last)}; ${hits.join(" ")}`, {
          cause: error,
        });
      });
    /** @param {any} run @param {string} text */
    const said = (run, text) => run.logs.some((/** @type {any} */ line) => line.text === text);

    for (let k = 0; k < STEPS; k++) {
      await waits(`step ${k}`, (run) => said(run, `at ${k}`));
      await kill();
      const code = `await tools.storage.set({ key: "go", value: params.k })`;
      await w.execute({ code, params: { k } }, { token: agent });
      if (SLEEPS.includes(k)) {
        await waits("the sleep", (run) => run.status === "parked" || said(run, `slept ${k}`));
        await kill();
        await waits("the end of the sleep", (run) => said(run, `slept ${k}`));
      }
      if (k === ASKS) {
        await waits("the question", (run) => run.status === "waiting_approval");
        await kill();
        const asked = await w.json("/v1/approvals", undefined, { token: person });
        const [{ id }] = asked.body.approvals;
        const decided = await w.json(
          `/v1/approvals/${id}`,
          { decision: "allow" },
          { token: person },
        );
        assert.equal(decided.status, 200, JSON.stringify(decided.body));
      }
    }
    await waits("the outcome", (run) => run.outcome !== null);
    assert.equal(last.status, "completed", JSON.stringify(last));
    assert.equal(last.result, "done");
    assert.equal(kills, STEPS + SLEEPS.length + 1);
    assert.deepEqual(
      hits,
      Array.from({ length: STEPS }, (_, k) => `/${k}`),
      "every effect is made once, in order",
    );
    const expected = Array.from({ length: STEPS }, (_, k) =>
      SLEEPS.includes(k) ? [`at ${k}`, `slept ${k}`] : [`at ${k}`],
    ).flat();
    assert.deepEqual(
      last.logs.map((/** @type {any} */ line) => line.text),
      expected,
      "every line is logged once",
    );
  },
);
