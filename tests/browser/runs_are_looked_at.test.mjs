// Rule: whoever signs in sees their runs, follows one while it goes, finds one again, ends one and runs
// one again; by keyboard alone, and without script as well.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, start, until } from "../worker/harness.mjs";
import { principal } from "../worker/support/visitor.mjs";
import { browse, keep, missing, signIn, tabTo } from "./browser.mjs";
import { seed } from "./seed.mjs";

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

/**
 * @param {string} token
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function signedIn(token, options) {
  const context = await b.context(options);
  const page = await context.newPage();
  await page.goto(w.url);
  await signIn(page, token);
  return page;
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";
  test(`whoever has no run starts a first one by one key, ${how}`, { skip: missing }, async () => {
    const p = await principal(w);
    const page = await signedIn(p.person, { javaScriptEnabled });
    assert.match(await page.locator("#live").innerText(), /Nothing has run yet/);
    await keep(page, `first-${javaScriptEnabled ? "script" : "plain"}`);
    await tabTo(page, "#live button.primary");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/run_/);
    await until("the run to end", async () => {
      if (!javaScriptEnabled) await page.reload();
      return (await page.locator("h1 .state").innerText()) === "completed";
    });
    const text = await page.locator("main").innerText();
    assert.match(text, /Hello at \d{4}/);
    assert.match(text, /read it back/);
    assert.equal(await page.locator(".timeline .piece.tool").count(), 2);
    assert.ok((await page.locator(".timeline .piece.compute").count()) >= 1);
    await tabTo(page, ".timeline a[href='#call-0']");
    await page.keyboard.press("Enter");
    assert.match(page.url(), /#call-0$/);
    if (javaScriptEnabled) {
      assert.match(
        await page.locator("#piece-said").innerText(),
        /call 0 of storage\.set, returned/,
      );
    }
    await tabTo(page, "#timeline-table summary");
    await page.keyboard.press("Enter");
    assert.match(await page.locator("#timeline-table").innerText(), /call 1 of storage\.get/);
    await tabTo(page, "#again");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.hash === "");
    await page.goto(w.url);
    await page.waitForSelector("text=A first program");
    assert.equal(await page.locator(".runs tbody tr").count(), 2);
    await page.context().close();
  });
}

test(
  "a run that goes on moves by itself, and is ended by keyboard",
  { skip: missing },
  async () => {
    const p = await principal(w);
    const page = await signedIn(p.person);
    const running = p.run(`
    for (let i = 0; i < 400; i++) {
      await tools.storage.set({ key: "step", value: i });
      console.log("step", i);
      await sleep(200);
    }`);
    // Nobody reloads: the list hears of it.
    await page.waitForSelector(".runs .state.busy");
    await tabTo(page, ".runs .what a");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/run_/);
    await page.waitForSelector("#call-2");
    await page.waitForSelector("#call-4");
    await tabTo(page, "#cancel");
    await sleep(1_200);
    await tabTo(page, "#cancel"); // the page moved on meanwhile, and the reader stayed
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1 .state:text('cancelled')");
    assert.equal((await running).status, "cancelled");
    await page.context().close();
  },
);

test("a run is found by what it is", { skip: missing }, async () => {
  const seeded = await seed(w);
  const page = await signedIn(seeded.person, { javaScriptEnabled: false });
  const rows = async (/** @type {string} */ query) => {
    await page.goto(`${w.url}/?${query}`);
    return page
      .locator(".runs .what a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")?.split("/")[2]));
  };
  assert.equal((await rows("")).length, 8);
  assert.deepEqual(await rows("status=failed"), [seeded.timedOut, seeded.failing]);
  assert.deepEqual(await rows("surface=invocation"), [seeded.scheduled, seeded.invoked]);
  assert.deepEqual(await rows("tool=storage.delete"), [seeded.parked]);
  assert.deepEqual(await rows("text=DIGEST"), [seeded.digest]);
  assert.deepEqual(await rows("text=const+%7B+orders"), [seeded.failing]);
  assert.deepEqual(await rows("status=completed&tool=storage.get&text=tidy"), [seeded.parked]);
  assert.deepEqual(await rows("text=%25x%25"), []);
  await page.goto(`${w.url}/runs/${seeded.failing}`);
  const marked = page.locator(".program .marked");
  assert.match(await marked.innerText(), /throw new TypeError.*\s*failed here/s);
  const parked = await page.goto(`${w.url}/runs/${seeded.parked}`);
  const text = (await parked?.text()) ?? "";
  for (const piece of ["park", "people", "load", "compute", "tool"]) {
    assert.match(text, new RegExp(`class="piece ${piece}"`), piece);
  }
  await page.goto(`${w.url}/runs/${seeded.digest}`);
  assert.doesNotMatch(await page.locator("table").last().innerText(), /hunter2/);
  assert.match(await page.locator("table").last().innerText(), /\[redacted\]/);
  await page.context().close();
});

test("somebody else's runs are not there", { skip: missing }, async () => {
  const [mine, theirs] = [await principal(w), await principal(w)];
  const run = await theirs.run("return 1");
  const page = await signedIn(mine.person);
  for (const place of [`/runs/${run.id}`, `/live?run=${run.id}`]) {
    const answer = await page.request.get(w.url + place, { timeout: 5_000 }).catch(() => undefined);
    if (answer) assert.equal(answer.status(), 404, place);
  }
  await page.context().close();
});
