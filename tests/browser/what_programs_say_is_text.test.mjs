// Rule: whatever a program, its names, its logs, its arguments and its errors say, a page shows it as
// text: nothing of it runs, nothing is loaded, nothing of the page moves, what hides is seen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../worker/harness.mjs";
import { principal } from "../worker/support/visitor.mjs";
import { browse, missing, signIn } from "./browser.mjs";

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

const EVIL = [
  `<script>alert(1)</script>`,
  `</title></pre></code></textarea><img src=x onerror=alert(2)>`,
  `"><svg onload=alert(3)>`,
  `' onfocus='alert(4)' autofocus='`,
  `<iframe srcdoc="<script>parent.alert(5)</script>"></iframe>`,
  `<a href="javascript:alert(6)">x</a>`,
  `<style>*{display:none!important}</style>`,
  `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<base href="https://evil.example/">`,
  `<form action="https://evil.example/"><button id=live>`,
  `]]><!--`,
  `{{constructor.constructor("alert(7)")()}}`,
  "\u202e\u2066gnirts\u2069 \u200b\ufeff\u0007",
  "\u05e2\u05d1\u05e8\u05d9\u05ea \u0639\u0631\u0628\u064a",
];

test("nothing that a program says runs or moves the page", { skip: missing }, async () => {
  const p = await principal(w, [
    { pattern: "storage.delete", action: "ask", note: EVIL.join(" ").slice(0, 400) },
  ]);
  const evil = EVIL.join("\n");
  const printable = EVIL.filter((text) => ![...text].some((c) => c < " ")).join(" ");
  const done = await p.run({
    code: `/* ${evil.replaceAll("*/", "")} */
      console.log(params.evil); console.error(params.evil); console.log("x".repeat(1_000_000));
      await tools.storage.set({ key: "evil", value: params.evil });
      await tools.storage.set({ key: "long", value: "y".repeat(900_000) });
      return params.evil + "z".repeat(500_000);`,
    params: { evil },
    label: printable.slice(0, 190),
  });
  assert.equal(done.status, "completed", JSON.stringify(done).slice(0, 1000));
  const failed = await p.run({ code: `throw new Error(params.evil)`, params: { evil } });
  assert.equal(failed.status, "failed");
  const waits = await p.run({
    code: `await tools.storage.delete({ key: params.evil.slice(0, 300) });`,
    params: { evil },
    label: printable.slice(0, 190),
  });
  assert.equal(waits.status, "waiting_approval", JSON.stringify(waits).slice(0, 1000));

  const context = await b.context();
  const page = await context.newPage();
  /** @type {string[]} */
  const happened = [];
  page.on("dialog", async (dialog) => {
    happened.push(`a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("console", (line) => {
    if (line.type() === "error") happened.push(`${page.url()}: ${line.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(w.url)) happened.push(`a request: ${request.url()}`);
  });
  await page.goto(w.url);
  await signIn(page, p.person);
  const query = new URLSearchParams({ text: EVIL[2] ?? "", tool: EVIL[3] ?? "" });
  for (const place of [
    "/",
    `/?${query}`,
    `/runs/${done.id}`,
    `/runs/${failed.id}`,
    `/runs/${waits.id}`,
    "/approvals",
    `/approvals/${waits.approvals[0].id}`,
    "/policies",
  ]) {
    const answer = await page.goto(w.url + place);
    assert.equal(answer?.status(), 200, place);
    const text = (await answer?.text()) ?? "";
    assert.ok(text.length < 600_000, `${place} is ${text.length} long`);
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/, `${place} hides nothing`);
    const odd = await page.evaluate(() => ({
      scripts: document.querySelectorAll("script").length,
      foreign: document.querySelectorAll("main :is(img, iframe, style, base, meta, script)").length,
      headings: document.querySelectorAll("h1").length,
      handlers: [...document.querySelectorAll("*")].filter((one) =>
        one.getAttributeNames().some((name) => name.startsWith("on") || name === "style"),
      ).length,
      over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    }));
    assert.deepEqual(odd, { scripts: 1, foreign: 0, headings: 1, handlers: 0, over: 0 }, place);
  }
  await page.goto(`${w.url}/runs/${failed.id}`);
  const text = await page.locator("main").innerText();
  for (const said of ["<script>alert(1)</script>", "U+202E", "\u05e2\u05d1\u05e8\u05d9\u05ea"]) {
    assert.ok(text.includes(said), said);
  }
  assert.deepEqual(happened, []);
  await context.close();
});
