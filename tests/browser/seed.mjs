// What there is to see: runs of every kind, a package, rules, something that waits.
import assert from "node:assert/strict";
import { principal } from "../worker/support/visitor.mjs";

/** @typedef {Awaited<ReturnType<typeof import("../worker/harness.mjs").start>>} Worker */

const RULES = [
  {
    pattern: "storage.set",
    when: [{ at: "/key", matches: "invoice-*" }],
    action: "ask",
    note: "Invoices are sent by people.",
    windowMs: 7_200_000,
  },
  { pattern: "storage.delete", action: "ask", note: "Deletions are looked at." },
  { pattern: "http.fetch", when: [{ at: "/method", equals: "DELETE" }], action: "block" },
];

const PROGRAMS = {
  digest: `// Reads what came in, and writes the digest of the day.
const inbox = await Promise.all(
  ["ada", "grace", "edsger"].map(async (who) => {
    await tools.storage.set({ key: "mail-" + who, value: { from: who, apiKey: "hunter2" } });
    await sleep(30 * who.length);
    return (await tools.storage.get({ key: "mail-" + who })).value;
  }),
);
console.log("read %d letters", inbox.length);
const digest = inbox.map((mail) => mail.from).join(", ");
await sleep(120);
await tools.storage.set({ key: "digest", value: digest });
console.info("written");
return { digest, letters: inbox.length };`,
  failing: `const { orders } = params;
console.log("checking", orders.length, "orders");
for (const order of orders) {
  console.warn("looking at", order.id);
  if (!order.total.amount) throw new TypeError("order " + order.id + " has no total");
}
return "all is well";`,
  waiting: `// Sends the invoices of the month, once somebody has looked at each.
const invoices = [
  { to: "ada@example.com", total: 1200 },
  { to: "grace@example.com", total: 800 },
];
console.log("made %d invoices", invoices.length);
await tools.storage.set({ key: "draft", value: invoices });
const sent = await Promise.all(
  invoices.map((invoice, i) =>
    tools.storage.set({ key: "invoice-" + i, value: { ...invoice, token: "hunter2" } }),
  ),
);
return sent.length;`,
  parked: `const before = await tools.storage.get({ key: "old" });
await sleep(200);
await tools.storage.delete({ key: "old" });
await sleep(150);
await tools.storage.set({ key: "tidy", value: true });
return "tidy";`,
};

const PACKAGE = {
  description: "Greets people, and counts how often.",
  modules: {
    "index.js":
      'import { name } from "./words.js";\n\n/** Says hello. */\nexport async function greet({ who }) {\n  return `Hello ${name(who)}`;\n}\n',
    "words.js": "export const name = (who) => who.trim();\n",
  },
  exports: {
    greet: {
      description: "Says hello to somebody.",
      params: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
    },
  },
};

const INBOX = {
  description: "Files what arrives.",
  modules: {
    "index.js": `export async function watch({ folder }) {
  console.log("watching", folder);
  while (!run.signal.aborted) await sleep(1_000);
}
`,
  },
  services: { watch: { description: "Files what arrives." } },
};

const SCHEDULES = {
  morning: {
    cron: "0 9 * * MON-FRI",
    zone: "Europe/Berlin",
    run: { package: "greeter/greet", params: { who: "Ada" } },
  },
  "tidy-up": { every: "6h", run: { code: "// Nothing to tidy.\nreturn 0;" }, paused: true },
};

/**
 * @param {Worker} w
 */
export async function seed(w) {
  const p = await principal(w, RULES);
  const digest = await p.run({ code: PROGRAMS.digest, label: "Digest of the day" });
  assert.equal(digest.status, "completed", JSON.stringify(digest));
  const failing = await p.run({
    code: PROGRAMS.failing,
    params: {
      orders: [
        { id: 17, total: { amount: 3 } },
        { id: 18, total: {} },
      ],
    },
  });
  assert.equal(failing.status, "failed", JSON.stringify(failing));
  const timedOut = await p.run({ code: "await sleep(60_000)", budgetMs: 150 });
  assert.equal(timedOut.errorDetails.kind, "timed_out", JSON.stringify(timedOut));
  const parked = await p.run({ code: PROGRAMS.parked, label: "Tidy up" });
  const [{ id }] = parked.approvals;
  const decision = { decision: "allow", reason: "It is old." };
  const decided = await w.json(`/v1/approvals/${id}`, decision, { token: p.person });
  assert.equal(decided.status, 200, JSON.stringify(decided.body));
  const place = `/v1/runs/${parked.id}/resume?wait=20`;
  const ended = await w.json(place, undefined, { method: "POST", token: p.agent });
  assert.equal(ended.body.status, "completed", JSON.stringify(ended.body));
  const saved = await w.json("/v1/packages/greeter", PACKAGE, { method: "PUT", token: p.agent });
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  const invoked = await w.json(
    "/v1/packages/greeter/greet",
    { params: { who: "Ada" } },
    { token: p.agent },
  );
  assert.equal(invoked.body.result, "Hello Ada", JSON.stringify(invoked.body));
  for (const [name, schedule] of Object.entries(SCHEDULES)) {
    const put = await w.json(`/v1/schedules/${name}`, schedule, { method: "PUT", token: p.agent });
    assert.equal(put.status, 200, JSON.stringify(put.body));
  }
  const morning = "/v1/schedules/morning/run";
  const run = await w.json(morning, undefined, { method: "POST", token: p.agent });
  assert.equal(run.body.status, "completed", JSON.stringify(run.body));
  const inbox = await w.json("/v1/packages/inbox", INBOX, { method: "PUT", token: p.agent });
  assert.equal(inbox.status, 201, JSON.stringify(inbox.body));
  const service = "/v1/services/inbox/watch/start";
  const started = await w.json(service, { params: { folder: "new" } }, { token: p.agent });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const waiting = await p.run({ code: PROGRAMS.waiting, label: "Invoices of November" });
  assert.equal(waiting.approvals.length, 2, JSON.stringify(waiting));
  return {
    ...p,
    digest: digest.id,
    failing: failing.id,
    timedOut: timedOut.id,
    parked: parked.id,
    invoked: invoked.body.id,
    scheduled: run.body.id,
    waiting: waiting.id,
    approval: waiting.approvals[0].id,
    decided: id,
  };
}

/**
 * Every page that there is, by a name for its picture.
 *
 * @param {Awaited<ReturnType<typeof seed>>} seeded
 * @returns {[string, string][]}
 */
export const pages = (seeded) => [
  ["runs", "/"],
  ["runs-filtered", "/?status=failed&text=orders"],
  ["run-completed", `/runs/${seeded.digest}`],
  ["run-failed", `/runs/${seeded.failing}`],
  ["run-parked", `/runs/${seeded.parked}`],
  ["run-waiting", `/runs/${seeded.waiting}`],
  ["approvals", "/approvals"],
  ["approval", `/approvals/${seeded.approval}`],
  ["approval-decided", `/approvals/${seeded.decided}`],
  ["packages", "/packages"],
  ["package", "/packages/greeter"],
  ["schedules", "/schedules"],
  ["schedule", "/schedules/morning"],
  ["services", "/services"],
  ["service", "/services/inbox/watch"],
  ["sources", "/sources"],
  ["secrets", "/secrets"],
  ["policies", "/policies"],
  ["tokens", "/tokens"],
  ["docs", "/docs"],
  ["docs-page", "/docs/execute"],
  ["docs-error", "/docs/errors/HF_E1302"],
];
