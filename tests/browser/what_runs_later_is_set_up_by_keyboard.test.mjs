// Rule: a person saves a package, puts a schedule and keeps a service at work by keyboard alone, with and
// without script; what is wrong is said where it is, and what was typed is still there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, until } from "../worker/harness.mjs";
import { principal } from "../worker/support/visitor.mjs";
import { browse, missing, signIn, tabTo } from "./browser.mjs";

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

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";
  test(`a package, its schedule and its service, ${how}`, { skip: missing }, async () => {
    const p = await principal(w);
    const context = await b.context({ javaScriptEnabled });
    const page = await context.newPage();
    const { keyboard } = page;
    await page.goto(`${w.url}/packages`);
    await signIn(page, p.person);
    /** @param {string} selector @param {string} text */
    const type = async (selector, text) => {
      await tabTo(page, selector);
      await keyboard.press("ControlOrMeta+A");
      await keyboard.type(text);
    };
    /** @param {string} selector */
    const press = async (selector) => {
      await tabTo(page, selector);
      await keyboard.press("Enter");
    };

    /** @param {string} selector of what leads to another page */
    const send = async (selector) => {
      await tabTo(page, selector);
      await Promise.all([page.waitForEvent("load"), keyboard.press("Enter")]);
    };

    await press("#save summary");
    await type("#name", "inbox");
    await type("#path-1", "index.js");
    await type("#text-1", "export async function watch( {");
    await send("#save button.primary");
    await page.waitForSelector("#wrong");
    assert.match(await page.locator("#wrong").innerText(), /index\.js: line 1, column 31/);
    assert.equal(await page.locator("#name").inputValue(), "inbox");
    assert.equal(await page.locator("#text-1").inputValue(), "export async function watch( {");
    await type(
      "#text-1",
      "export async function watch() { while (!run.signal.aborted) await sleep(50); return 1; }",
    );
    await press("#more summary");
    await type("#of-services", '{ "watch": {} }');
    await send("form button.primary");
    await page.waitForURL(/\/packages\/inbox$/);

    await press('a[href="/services/inbox/watch"]');
    await page.waitForURL(/\/services\/inbox\/watch$/);
    await send("form button.primary");
    const stands = async (/** @type {string} */ state) =>
      until(`it to be ${state}`, async () => {
        if (!javaScriptEnabled) await page.reload();
        return (await page.locator("h1 .state").innerText()) === state || undefined;
      });
    await stands("running");
    await send(".head button.danger");
    await stands("stopped");

    await press('.top a[href="/schedules"]');
    await page.waitForURL(/\/schedules$/);
    await press("#put summary");
    await type("#name", "hourly");
    await type("#when", "0 * * * *");
    await type("#zone", "Mars");
    await type("#of-code", "return 42;");
    await send("#put button.primary");
    await page.waitForSelector("#wrong");
    assert.equal(await page.locator("#of-code").inputValue(), "return 42;");
    await type("#zone", "Asia/Kathmandu");
    await send("form button.primary");
    await page.waitForURL(/\/schedules\/hourly$/);
    await send("form[action$='/pause'] button");
    await stands("paused");
    await send("form[action$='/run'] button");
    await page.waitForURL(/\/runs\/run_/);
    await stands("completed");
    await page.goBack();
    await press("#delete summary");
    await send("#delete button");
    await page.waitForURL(/\/schedules$/);
    assert.match(await page.locator("main").innerText(), /Nothing is scheduled/);
    await context.close();
  });
}
