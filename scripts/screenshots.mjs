// Pictures of every page, light and dark, wide and narrow, for the documentation.
//
//   npm run screenshots
//
// They show what tests/browser/seed.mjs makes, in a worker of the fast build.
import fs from "node:fs";
import path from "node:path";
import { build } from "./build.mjs";
import { Refusal, script } from "./lib/command.mjs";
import { ROOT } from "./lib/places.mjs";
import { small } from "./lib/png.mjs";

const FOLDER = path.join(ROOT, "docs", "images");

const LOOKS = /** @type {const} */ ([
  ["light", "wide", { colorScheme: "light", viewport: { width: 1200, height: 800 } }],
  ["dark", "wide", { colorScheme: "dark", viewport: { width: 1200, height: 800 } }],
  ["light", "narrow", { colorScheme: "light", viewport: { width: 390, height: 800 } }],
  ["dark", "narrow", { colorScheme: "dark", viewport: { width: 390, height: 800 } }],
]);

await script(import.meta.url, async () => {
  await build({ fast: true });
  const { browse, missing, signIn } = await import("../tests/browser/browser.mjs");
  const { pages, seed } = await import("../tests/browser/seed.mjs");
  const { start } = await import("../tests/worker/harness.mjs");
  const { principal } = await import("../tests/worker/support/visitor.mjs");
  if (missing !== undefined) throw new Refusal(missing);
  const w = await start();
  const b = await browse();
  try {
    fs.mkdirSync(FOLDER, { recursive: true });
    const seeded = await seed(w);
    const nobody = await principal(w);
    let [files, bytes] = [0, 0];
    for (const [colour, width, options] of LOOKS) {
      const context = await b.context(options);
      const page = await context.newPage();
      /** @param {string} name @param {string} place */
      const keep = async (name, place) => {
        await page.goto(w.url + place);
        const png = small(await page.screenshot({ animations: "disabled" }));
        fs.writeFileSync(path.join(FOLDER, `${name}-${width}-${colour}.png`), png);
        [files, bytes] = [files + 1, bytes + png.length];
      };
      await keep("sign-in", "/sign-in");
      await signIn(page, nobody.person);
      await keep("first", "/");
      await page.goto(`${w.url}/sign-in`);
      await signIn(page, seeded.person);
      for (const [name, place] of pages(seeded)) await keep(name, place);
      await context.close();
    }
    console.log(`${files} pictures in docs/images, ${Math.round(bytes / 1000)} KB in all`);
  } finally {
    await b.stop();
    await w.stop();
  }
});
