// An agent's eye: from what `execute` and `tool_search` say, and from nothing else, a client writes a program that
// uses two sources together; the TypeScript that it was told fits what really comes back.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run as command } from "../../scripts/lib/command.mjs";
import { NODE_BIN } from "../../scripts/lib/places.mjs";
import { ADMIN_TOKEN, start } from "../worker/harness.mjs";
import { mcpStand } from "../worker/mcp_stand.mjs";

const CITIES = {
  name: "find-cities",
  description: "Finds the cities of a country, with how many people live there.",
  inputSchema: {
    type: "object",
    properties: { country: { type: "string", description: "Its name in English." } },
    required: ["country"],
  },
  outputSchema: {
    type: "object",
    properties: {
      cities: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" }, people: { type: "integer" } },
          required: ["name", "people"],
        },
      },
    },
    required: ["cities"],
  },
  annotations: { readOnlyHint: true },
  call: () => {
    const cities = [
      { name: "Graz", people: 303_000 },
      { name: "Wien", people: 2_000_000 },
    ];
    return { content: [], structuredContent: { cities } };
  },
};
const FORECAST = {
  name: "get_forecast",
  description: "The weather forecast of a city for tomorrow.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, unit: { enum: ["C", "F"] } },
    required: ["city"],
  },
  outputSchema: {
    type: "object",
    properties: { degrees: { type: "number" }, rain: { type: "boolean" } },
    required: ["degrees", "rain"],
  },
  annotations: { readOnlyHint: true },
  call: (/** @type {any} */ { city }) => ({
    content: [],
    structuredContent: { degrees: city === "Wien" ? 21.5 : 19, rain: city === "Graz" },
  }),
};

/** @type {Awaited<ReturnType<typeof mcpStand>>[]} */
const stands = [];
/** @type {Awaited<ReturnType<typeof start>>} */
let w;
/** @type {Client} */
let client;
before(async () => {
  stands.push(await mcpStand({ era: "modern", tools: [CITIES] }));
  stands.push(await mcpStand({ era: "legacy", sse: true, tools: [FORECAST] }));
  const [atlas, sky] = stands;
  w = await start({
    vars: { HOLDFAST_SOURCE_HOSTS: `public, ${atlas?.origin}, ${sky?.origin}` },
    outbound: "network",
  });
  for (const [name, stand] of Object.entries({ atlas, sky })) {
    const settings = { kind: "mcp", url: stand?.url };
    const { body } = await w.json(`/v1/sources/${name}`, settings, { method: "PUT" });
    assert.equal(body.state, "ready", JSON.stringify(body));
  }
  client = new Client({ name: "agent", version: "1" });
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", w.url), {
    requestInit: { headers },
  });
  await client.connect(/** @type {any} */ (transport));
});
after(async () => {
  await client?.close();
  await w?.stop();
  for (const stand of stands) await stand.stop();
});

/** @param {string} name @param {Record<string, unknown>} args @returns {Promise<any>} */
const call = async (name, args) =>
  /** @type {any} */ (await client.callTool({ name, arguments: args })).structuredContent;

test("two sources are found, described and used together", async (t) => {
  const { tools } = await client.listTools();
  const execute = tools.find(({ name }) => name === "execute")?.description ?? "";
  assert.match(execute, /Connected sources: atlas, sky\./);
  assert.match(execute, /tool_search/);
  assert.ok(execute.length < 1_200, `${execute.length} characters`);

  const found = [];
  for (const query of ["cities of a country", "weather forecast"]) {
    const { tools: hits } = await call("tool_search", { query, limit: 3 });
    found.push(await call("tool_describe", { path: hits[0].path }));
  }
  const [cities, forecast] = found;

  // The program is put together from the described names alone: paths, members, types.
  const member = (
    /** @type {any} */ { typescript },
    /** @type {string} */ type,
    /** @type {RegExp} */ like,
  ) => {
    const [, members = ""] = new RegExp(`type ${type} = {([^]*?)\n};`).exec(typescript) ?? [];
    return (like.exec(members) ?? assert.fail(typescript))[1];
  };
  const country = member(cities, "Arguments", /^ {2}(\w+): string/m);
  const list = member(cities, "Result", /^ {2}(\w+): /m);
  const city = member(forecast, "Arguments", /^ {2}(\w+): string/m);
  const rain = member(forecast, "Result", /^ {2}(\w+): boolean/m);
  const code = `
    const found = await tools.${cities.path}({ ${country}: "Austria" });
    const dry = [];
    for (const { name } of found.${list}) {
      const weather = await tools.${forecast.path}({ ${city}: name });
      if (!weather.${rain}) dry.push(name);
    }
    return dry;`;
  const ran = await call("execute", { code });
  assert.deepEqual(ran.result, ["Wien"], JSON.stringify(ran));

  // What was told is held by the compiler against what came.
  const real = await call("execute", {
    code: `const found = await tools.${cities.path}({ ${country}: "Austria" });
      return [found, await tools.${forecast.path}({ ${city}: "Wien" })];`,
  });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-agent-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const options = { strict: true, noEmit: true, target: "es2022", module: "esnext", types: [] };
  fs.writeFileSync(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, include: ["*.ts"] }),
  );
  const write = (
    /** @type {string} */ name,
    /** @type {any} */ described,
    /** @type {string} */ rest,
  ) => fs.writeFileSync(path.join(folder, name), `export {};\n${described.typescript}\n${rest}\n`);
  const returns = (/** @type {any} */ { path }) => `Awaited<ReturnType<typeof tools.${path}>>`;
  write(
    "a.ts",
    cities,
    `const real: ${returns(cities)} = ${JSON.stringify(real.result[0])}; void real;`,
  );
  write(
    "b.ts",
    forecast,
    `const real: ${returns(forecast)} = ${JSON.stringify(real.result[1])}; void real;`,
  );
  const tsc = () =>
    command(path.join(NODE_BIN, "tsc"), ["--project", folder], { timeoutMs: 120_000 });
  const good = await tsc();
  assert.ok(good.ok, good.text);
  write("b.ts", forecast, `void tools.${forecast.path}({ ${city}: 5 });`);
  const bad = await tsc();
  assert.ok(!bad.ok && /not assignable/.test(bad.text), bad.text);
});
