// Rule: every page can be read by everybody: axe finds nothing serious on it, in light and in dark, wide
// and narrow; nothing of it lies outside a narrow window; no page breaks the policy that it is under.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { start } from "../worker/harness.mjs";
import { browse, missing, signIn } from "./browser.mjs";
import { pages, seed } from "./seed.mjs";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {Awaited<ReturnType<typeof browse>>} */
let b;
/** @type {Awaited<ReturnType<typeof seed>>} */
let seeded;
before(async () => {
  if (missing !== undefined) return;
  w = await start();
  b = await browse();
  seeded = await seed(w);
});
after(async () => {
  await b?.stop();
  await w?.stop();
});

const LOOKS = /** @type {const} */ ([
  ["wide and light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["narrow and dark", { colorScheme: "dark", viewport: { width: 360, height: 740 } }],
]);

for (const [name, options] of LOOKS) {
  test(`nothing serious is found, ${name}`, { skip: missing }, async () => {
    const context = await b.context(options);
    const page = await context.newPage();
    /** @type {string[]} */
    const complaints = [];
    page.on("console", (line) => {
      if (line.type() === "error") complaints.push(`${page.url()}: ${line.text()}`);
    });
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    await page.goto(`${w.url}/sign-in`);
    const found = await look(page, "sign-in");
    await signIn(page, seeded.person);
    for (const [what, place] of pages(seeded)) {
      const answer = await page.goto(w.url + place);
      assert.equal(answer?.status(), 200, place);
      found.push(...(await look(page, what)));
    }
    await context.close();
    assert.deepEqual(found, []);
    assert.deepEqual(complaints, []);
  });
}

test(
  "each page is whole without script, and all of it is reached by keyboard",
  { skip: missing },
  async () => {
    const context = await b.context({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${w.url}/sign-in`);
    await signIn(page, seeded.person);
    /** @type {string[]} */
    const missed = [];
    for (const [what, place] of pages(seeded)) {
      await page.goto(w.url + place);
      assert.equal(await page.locator("h1").count(), 1, what);
      const wanted = await page.evaluate(() => {
        for (const one of document.querySelectorAll("details")) one.open = true;
        const focusable = "a[href], button, input, select, textarea, summary, [tabindex='0']";
        const all = [...document.querySelectorAll(focusable)].filter(
          (one) => one.getClientRects().length > 0 && one.getAttribute("type") !== "hidden",
        );
        for (const [place, one] of all.entries()) one.setAttribute("data-place", String(place));
        return all.length;
      });
      const reached = new Set();
      for (let i = 0; i < wanted + 5 && reached.size < wanted; i++) {
        await page.keyboard.press("Tab");
        reached.add(await page.evaluate(() => document.activeElement?.getAttribute("data-place")));
      }
      for (let i = 0; i < wanted; i++) {
        if (reached.has(String(i))) continue;
        const one = page.locator(`[data-place="${i}"]`);
        missed.push(`${what}: ${await one.evaluate((node) => node.outerHTML.slice(0, 120))}`);
      }
    }
    await context.close();
    assert.deepEqual(missed, []);
  },
);

/**
 * @param {import("playwright-core").Page} page
 * @param {string} what
 */
async function look(page, what) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
  const serious = violations.filter((/** @type {any} */ one) =>
    ["serious", "critical"].includes(one.impact),
  );
  const told = serious.map(
    (/** @type {any} */ one) =>
      `${what}: ${one.id}: ${one.nodes.map((/** @type {any} */ node) => node.html.slice(0, 160)).join(" | ")}`,
  );
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  if (over > 0) told.push(`${what}: ${over} pixels lie outside the window`);
  return told;
}
