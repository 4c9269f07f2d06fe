// Rule: whatever goes wrong on our side reaches Sentry by itself, with its run and without secrets; what is
// the caller's or the program's does not.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ADMIN_TOKEN, SECRETS, sleep, until } from "./harness.mjs";
import { start } from "./sentry_stand.mjs";

/** @type {import("./sentry_stand.mjs").Stand} */
let stand;
before(async () => {
  // A binding that does not exist: every attempt fails for a reason that is ours.
  stand = await start({ vars: { SENTRY_PROBE: "", HOLDFAST_TOOLS_SERVICE: "NOT_BOUND" } });
});
after(() => stand.stop());

/** @param {string} code */
const run = (code) =>
  stand.fetch("/v1/runs", {
    method: "POST",
    token: ADMIN_TOKEN,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });

test("a fault of ours arrives, and tells no secret", async () => {
  const answer = await run("return 1");
  assert.equal(answer.status, 503);
  const { error } = JSON.parse(await answer.text());
  assert.equal(error.code, "HF_E1050");
  const [event] = await until("the event", async () => {
    const { events } = await stand.received();
    return events.length > 0 && events.map(({ json }) => json);
  });
  assert.deepEqual(event.fingerprint, ["HF_E1050"]);
  const text = JSON.stringify(event);
  for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret), secret);
  assert.ok(!text.includes("return 1"), "no program source");
});

test("what is the caller's is not reported", async () => {
  const { events } = await stand.received();
  const refused = await stand.fetch("/v1/runs/run_1", { token: ADMIN_TOKEN });
  assert.equal(refused.status, 404);
  const bad = await stand.fetch("/v1/runs?limit=0", { token: ADMIN_TOKEN });
  assert.equal(bad.status, 400);
  await sleep(500);
  assert.equal((await stand.received()).events.length, events.length);
});
