// Applies the migrations to the embedded D1 of `npm start`.
//
//   npm run migrate -- [--state DIR]
//
// `npm start` does it by itself. A deployed database is migrated by `npm run deploy`.
import path from "node:path";
import { options, script } from "./lib/command.mjs";
import { ROOT, STATE } from "./lib/places.mjs";
import { migrate } from "./lib/wrangler.mjs";
import { installNodeModules } from "./setup.mjs";

const USAGE = "usage: npm run migrate -- [--state DIR]";

await script(import.meta.url, async () => {
  const { values } = options({ state: { type: "string" } }, { usage: USAGE });
  const state = values.state === undefined ? STATE : path.resolve(values.state);
  await installNodeModules();
  const applied = await migrate(state);
  console.log(
    applied.length > 0
      ? `Applied ${applied.join(", ")} to ${path.relative(ROOT, state) || state}.`
      : "The database has every migration.",
  );
});
