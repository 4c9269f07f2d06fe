// Rule: a command that is not understood does nothing and says why; a dry run of any command sends
// nothing that could change something; stdout is JSON or empty.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { open } from "./stage.mjs";

const stage = await open();
after(() => stage.close());

test("what is not understood is named, and nothing is sent", async () => {
  for (const [args, told] of /** @type {[string[], RegExp][]} */ ([
    [[], /which command\?/],
    [["deploi", "--pr", "7"], /no such command: deploi/],
    [["deploy"], /--pr has to be the number/],
    [["deploy", "--pr", "0"], /--pr has to be the number of a pull request, not "0"/],
    [["deploy", "--pr", "7; rm"], /--pr has to be the number/],
    [["cleanup", "--pr", ""], /--pr has to be the number/],
    [["deploy", "--pr", "7", "--sha", "HEAD"], /not the id of a commit: "HEAD"/],
    [["deploy", "--pr", "7", "--force"], /Unknown option '--force'/],
    [["deploy", "now", "--pr", "7"], /too many words: now/],
    [["comment", "--pr", "7", "--sha", "1234567"], /--status has to be/],
    [
      ["deploy", "--pr", "7", "--sha", "1234567", "--project", "/nowhere"],
      /\/nowhere\/wrangler\.toml/,
    ],
  ])) {
    const ended = await stage.run("preview", ["--project", stage.project, ...args]);
    assert.equal(ended.code, 1, args.join(" "));
    assert.equal(ended.stdout, "");
    assert.match(ended.stderr, told);
    assert.doesNotMatch(ended.stderr, /\n {4}at /, "no stack for a mistake of the caller's");
  }
  assert.deepEqual(stage.cloud.log, []);
});

test("--help tells every command, and is no failure", async () => {
  const ended = await stage.run("preview", ["--help"]);
  assert.equal(ended.code, 0);
  for (const command of ["ensure", "deploy", "seed", "check", "comment", "cleanup", "sweep"]) {
    assert.match(ended.stderr, new RegExp(`^  ${command} `, "m"));
  }
});

test("a dry run of any command changes nothing, before and after there is a preview", async () => {
  const dry = async () => {
    const before = [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.snapshot())];
    for (const [command, args] of /** @type {[string, string[]][]} */ ([
      ["ensure", []],
      ["deploy", []],
      ["seed", []],
      ["check", []],
      ["comment", ["--status", "ready"]],
      ["cleanup", []],
    ])) {
      const ended = await stage.preview(command, 7, [...args, "--dry-run"]);
      assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
      assert.equal(ended.result.dryRun, true);
    }
    assert.deepEqual(
      [JSON.stringify(stage.cloud.snapshot()), JSON.stringify(stage.hub.snapshot())],
      before,
    );
  };
  await dry();
  for (const command of ["deploy", "seed"]) assert.equal((await stage.preview(command, 7)).code, 0);
  await dry();
});
