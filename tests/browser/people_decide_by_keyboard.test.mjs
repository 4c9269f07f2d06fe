// Rule: a person decides with a keyboard alone and without script: the program is there with the line
// that waits, the call with its arguments, and what is decided is what the run hears.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, until } from "../worker/harness.mjs";
import { principal } from "../worker/support/visitor.mjs";
import { browse, keep, missing, signIn, tabTo } from "./browser.mjs";

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {Awaited<ReturnType<typeof browse>>} */
let b;
before(async () => {
  if (missing !== undefined) return;
  w = await start();
  b = await browse();
});
after(async () => {
  await b?.stop();
  await w?.stop();
});

const RULES = [
  {
    pattern: "storage.set",
    when: [{ at: "/key", matches: "old-*" }],
    action: "ask",
    note: "What is old is looked at.",
  },
];

const PROGRAM = `// Tidies up what is old.
const old = [];
for (const key of ["a", "b"]) {
  await tools.storage.set({ key, value: { at: 1 } });
  old.push(key);
}
const verb = "set";
try {
  for (const key of old) {
    await tools.storage[verb]({ key: "old-" + key, value: { password: "hunter2" } });
  }
} catch (error) {
  return error.message;
}
return "tidy";`;

/** @param {any} p @param {string} id */
const ended = (p, id) =>
  until("the run to end", async () => {
    const { body } = await w.json(`/v1/runs/${id}`, undefined, { token: p.agent });
    return body.outcome === null ? undefined : body;
  });

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";
  test(`a call is allowed by keyboard, ${how}`, { skip: missing }, async () => {
    const p = await principal(w, RULES);
    const run = await p.run({ code: PROGRAM, label: "Tidy <b>up</b>" });
    const [{ approveUrl }] = run.approvals;
    const context = await b.context({ javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(approveUrl);
    await signIn(page, p.person);
    assert.equal(page.url(), approveUrl, "signing in leads back to the approval");
    const marked = page.locator(".program .marked");
    assert.equal(await marked.count(), 1);
    assert.match(await marked.innerText(), /storage\[verb\].*\s*waits for you here/s);
    assert.equal(await marked.getAttribute("id"), "L10");
    const text = await page.locator("main").innerText();
    for (const shown of [
      "What is old is looked at.",
      '"key": "old-a"',
      "[redacted]",
      "storage.set",
    ]) {
      assert.ok(text.includes(shown), `${shown} is shown:\n${text}`);
    }
    assert.equal(await page.locator('pre.json:has-text("hunter2")').count(), 0);
    assert.equal(await page.locator("main b").count(), 0, "a label is text");
    await keep(page, `approval-${javaScriptEnabled ? "script" : "plain"}`);
    await tabTo(page, "#reason");
    await page.keyboard.type("It is old indeed.");
    await tabTo(page, 'button[value="allow_run"]');
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=What stands");
    assert.match(await page.locator("main").innerText(), /every later call of this tool/);
    assert.equal((await ended(p, run.id)).result, "tidy");
    await context.close();
  });
}

test(
  "a call is declined with a reason; a second decision is told what stands",
  { skip: missing },
  async () => {
    const p = await principal(w, RULES);
    const run = await p.run(PROGRAM);
    const [{ approveUrl }] = run.approvals;
    const context = await b.context();
    const [page, other] = [await context.newPage(), await context.newPage()];
    await page.goto(approveUrl);
    await signIn(page, p.person);
    await other.goto(approveUrl);
    await tabTo(page, "#reason");
    await page.keyboard.type("Keep <them>.");
    await tabTo(page, 'button[value="decline"]');
    await page.keyboard.press("Space");
    await page.waitForSelector("text=What stands");
    assert.match(await page.locator("blockquote").last().innerText(), /./);
    assert.match((await ended(p, run.id)).result, /was declined: Keep <them>\./);
    await tabTo(other, 'button[value="allow"]');
    await other.keyboard.press("Enter");
    await other.waitForSelector('[role="alert"]');
    assert.match(
      await other.locator('[role="alert"]').innerText(),
      /declined already; that stands/,
    );
    await context.close();
  },
);

test("the header counts what waits, and the list leads there", { skip: missing }, async () => {
  const p = await principal(w, RULES);
  const context = await b.context();
  const page = await context.newPage();
  await page.goto(`${w.url}/approvals`);
  await signIn(page, p.person);
  assert.match(await page.locator("#live").innerText(), /Nothing waits for you/);
  assert.equal(await page.locator("#waiting").count(), 0);
  await p.run(PROGRAM);
  await page.reload();
  assert.match(await page.locator("#waiting").innerText(), /^1/);
  await tabTo(page, ".cards a");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/approvals\/apr_/);
  await page.goto(`${w.url}/approvals`);
  await tabTo(page, ".who button");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/sign-in/);
  await context.close();
});
