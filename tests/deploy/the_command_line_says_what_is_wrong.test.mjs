// Rule: a command that is not understood does nothing, says why, and prints nothing on stdout.
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
