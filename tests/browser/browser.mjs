// Chromium for tests of pages: one browser a test file, a fresh context a test, bounded in time.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { chromium as playwright } from "playwright-core";
import { chromium } from "../../scripts/lib/needs.mjs";
import { ROOT } from "../../scripts/lib/places.mjs";

const WAIT_MS = 20_000;

/** What a test of pages leaves to look at. */
export const ARTEFACTS = path.join(ROOT, "tests", "artefacts", "pages");

/** Why there is no browser here, for tests that skip themselves. */
export const { missing } = await chromium();

/** @typedef {import("playwright-core").Page} Page */

/** @param {string} program by name, as PATH has it, or by path */
function wholePath(program) {
  if (path.isAbsolute(program)) return program;
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const files = folders.map((folder) => path.join(folder, program));
  return files.find((file) => fs.existsSync(file)) ?? program;
}

/** Starts a browser. */
export async function browse() {
  const found = await chromium();
  const browser = await playwright.launch({
    executablePath: wholePath(found.path ?? ""),
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    timeout: WAIT_MS,
  });
  return {
    /**
     * A context of its own: nobody is signed in.
     *
     * @param {import("playwright-core").BrowserContextOptions} [options]
     */
    async context(options = {}) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        locale: "en-GB",
        timezoneId: "UTC",
        ...options,
      });
      context.setDefaultTimeout(WAIT_MS);
      return context;
    },
    stop: () => browser.close(),
  };
}

/**
 * Presses Tab until what is focused is meant, as somebody without a mouse does.
 *
 * @param {Page} page
 * @param {string} selector
 */
export async function tabTo(page, selector) {
  for (let i = 0; i < 400; i++) {
    const there = await page.evaluate(
      (wanted) => document.activeElement?.matches(wanted) ?? false,
      selector,
    );
    if (there) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never reaches ${selector} on ${page.url()}`);
}

/**
 * Keeps a picture of a page as it stands.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function keep(page, name) {
  fs.mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: path.join(ARTEFACTS, `${name}.png`), fullPage: true });
}

/**
 * Signs in by keyboard, without a mouse.
 *
 * @param {Page} page
 * @param {string} token
 */
export async function signIn(page, token) {
  await tabTo(page, "#token");
  await page.keyboard.type(token);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/sign-in");
}
