// Workers: scripts, versions, deployments, secrets, schedules, addresses.
import { Refused, json, withoutSecret } from "./api.mjs";

/**
 * @typedef {import("./cloud.mjs").Call} Call
 * @typedef {import("./cloud.mjs").Script} Script
 * @typedef {import("./cloud.mjs").Version} Version
 * @typedef {import("./cloud.mjs").Binding} Binding
 */

const SCRIPTS = "/accounts/:account/workers/scripts";
const SERVICES = "/accounts/:account/workers/services";

/** Where a name is part of a host name, no label of it may be longer. */
const MAX_NAME = 63;

/**
 * @param {Call} call
 * @returns {Script}
 */
function scriptOf({ state, args, touch }) {
  touch(`worker:${args[0]}`);
  const script = state.scripts[args[0] ?? ""];
  if (script === undefined) {
    throw new Refused(404, 10007, "This Worker does not exist on your account.");
  }
  return script;
}

/**
 * What an upload brings: the metadata and the modules.
 *
 * @param {Call} call
 */
async function uploadOf(call) {
  const form = await new Response(/** @type {any} */ (call.body), {
    headers: { "content-type": call.request.headers.get("content-type") ?? "" },
  }).formData();
  const metadata = JSON.parse(String(await textOf(form.get("metadata"))));
  /** @type {Map<string, Uint8Array>} */
  const modules = new Map();
  /** @type {Version["modules"]} */
  const listed = [];
  for (const [name, part] of form) {
    if (name === "metadata" || typeof part === "string") continue;
    const bytes = new Uint8Array(await part.arrayBuffer());
    modules.set(name, bytes);
    listed.push({ name, type: part.type, bytes: bytes.byteLength });
  }
  call.logAs(
    JSON.stringify({
      ...metadata,
      bindings: (metadata.bindings ?? []).map((/** @type {Binding} */ one) => withoutSecret(one)),
    }),
  );
  return { metadata, modules, listed };
}

/** @param {unknown} part */
async function textOf(part) {
  return part instanceof Blob ? part.text() : part;
}

/**
 * The bindings of a version: those uploaded, and of the version before it those that the upload
 * wants to keep or inherit. What they name has to exist.
 *
 * @param {Call} call
 * @param {any} metadata
 * @returns {Binding[]}
 */
function bindingsOf({ state, cloud, args }, metadata) {
  const before = cloud.live(args[0] ?? "")?.bindings ?? [];
  /** @type {Binding[]} */
  const bindings = [];
  for (const binding of metadata.bindings ?? []) {
    if (binding.type !== "inherit") {
      bindings.push(binding);
      continue;
    }
    const inherited = before.find((one) => one.name === binding.name);
    if (inherited === undefined) {
      throw new Refused(400, 10056, `binding ${binding.name} cannot be inherited: there is none`);
    }
    bindings.push(inherited);
  }
  for (const binding of before) {
    const isKept = (metadata.keep_bindings ?? []).includes(binding.type);
    if (isKept && !bindings.some((one) => one.name === binding.name)) bindings.push(binding);
  }
  for (const binding of bindings) {
    const { name, type } = binding;
    if (type === "worker_loader" && state.plan === "free") {
      throw new Refused(400, 10021, `binding ${name} of type worker_loader is invalid`);
    }
    if (type === "d1" && state.databases[binding.id ?? binding.database_id] === undefined) {
      throw new Refused(
        400,
        10021,
        `binding ${name} of type d1 must have a valid \`id\` specified`,
      );
    }
    if (type === "kv_namespace" && state.namespaces[binding.namespace_id] === undefined) {
      throw new Refused(400, 10041, `KV namespace '${binding.namespace_id}' not found.`);
    }
  }
  return bindings;
}

/**
 * Stores an upload as the script's newest version; the script is made when it is the first.
 *
 * @param {Call} call
 * @returns {Promise<{script: Script, version: Version}>}
 */
async function upload(call) {
  const name = call.args[0] ?? "";
  call.touch(`worker:${name}`);
  if (!/^[a-z0-9_][a-z0-9-_]*$/.test(name) || name.length > MAX_NAME) {
    throw new Refused(400, 10016, `Invalid Worker name: ${name}`);
  }
  const { metadata, modules, listed } = await uploadOf(call);
  const bindings = bindingsOf(call, metadata);
  const now = new Date().toISOString();
  const script = call.state.scripts[name] ?? {
    tag: call.cloud.uuid().replaceAll("-", ""),
    created_on: now,
    versions: [],
    deployments: [],
    subdomain: { enabled: false, previews_enabled: false },
    schedules: [],
    settings: {},
    secretRevisions: {},
  };
  call.state.scripts[name] = script;
  for (const binding of metadata.bindings ?? []) {
    if (binding.type === "secret_text") countSecret(script, binding.name);
  }
  if (metadata.migrations?.new_tag !== undefined) {
    script.migration_tag = metadata.migrations.new_tag;
  }
  const version = addVersion(call, script, {
    main: metadata.main_module ?? metadata.body_part,
    modules: listed,
    bindings,
    compatibility_date: metadata.compatibility_date ?? "",
    compatibility_flags: metadata.compatibility_flags ?? [],
    annotations: { "workers/triggered_by": "upload", ...metadata.annotations },
  });
  await call.cloud.platform.keep(version.id, modules);
  return { script, version };
}

/**
 * @param {Call} call
 * @param {Script} script
 * @param {Omit<Version, "id" | "number" | "created_on">} rest
 * @returns {Version}
 */
function addVersion(call, script, rest) {
  const version = {
    ...rest,
    id: call.cloud.uuid(),
    number: script.versions.length + 1,
    created_on: new Date().toISOString(),
  };
  script.versions.push(version);
  return version;
}

/**
 * @param {Call} call
 * @param {Script} script
 * @param {string} version_id
 * @param {Record<string, string>} annotations
 */
function deploy(call, script, version_id, annotations = {}) {
  const deployment = {
    id: call.cloud.uuid(),
    created_on: new Date().toISOString(),
    version_id,
    annotations,
  };
  script.deployments.push(deployment);
  return shownDeployment(deployment);
}

/**
 * A changed secret is a version of its own, deployed at once, with the code of the live one.
 *
 * @param {Call} call
 * @param {Script} script
 * @param {Record<string, string | null>} secrets
 */
async function setSecrets(call, script, secrets) {
  const live = call.cloud.live(call.args[0] ?? "");
  if (live === undefined) throw new Refused(404, 10007, "This Worker has no deployment.");
  const kept = live.bindings.filter((binding) => !(binding.name in secrets));
  const set = Object.entries(secrets).flatMap(([name, text]) =>
    text === null ? [] : [{ type: "secret_text", name, text }],
  );
  for (const { name } of set) countSecret(script, name);
  const version = addVersion(call, script, {
    ...live,
    bindings: [...kept, ...set],
    annotations: { "workers/triggered_by": "secret" },
  });
  await call.cloud.platform.keep(version.id, new Map([["", new TextEncoder().encode(live.id)]]));
  deploy(call, script, version.id);
}

/**
 * @param {Script} script
 * @param {string} name
 */
function countSecret(script, name) {
  script.secretRevisions[name] = (script.secretRevisions[name] ?? 0) + 1;
}

/** @param {Script["deployments"][number]} deployment */
const shownDeployment = ({ id, created_on, version_id, annotations }) => ({
  id,
  created_on,
  source: "wrangler",
  strategy: "percentage",
  author_email: "stand-in@example.com",
  annotations,
  versions: [{ version_id, percentage: 100 }],
});

/** @param {Version} version */
const shownVersion = ({ id, number, created_on, annotations, bindings, ...rest }) => ({
  id,
  number,
  metadata: {
    created_on,
    modified_on: created_on,
    source: "wrangler",
    author_email: "stand-in@example.com",
  },
  annotations,
  startup_time_ms: 1,
  resources: {
    bindings: bindings.map((binding) => withoutSecret(binding)),
    script: { etag: id, handlers: ["fetch"], last_deployed_from: "wrangler" },
    script_runtime: { compatibility_date: rest.compatibility_date, usage_model: "standard" },
  },
});

/**
 * @param {string} name
 * @param {Script} script
 */
const shownScript = (name, script) => ({
  id: name,
  tag: script.tag,
  etag: script.versions.at(-1)?.id,
  created_on: script.created_on,
  modified_on: script.versions.at(-1)?.created_on,
  migration_tag: script.migration_tag,
  last_deployed_from: "wrangler",
  usage_model: "standard",
});

/** @param {Call} call */
function remove(call) {
  const script = scriptOf(call);
  const name = call.args[0] ?? "";
  const dependants = Object.entries(call.state.scripts).filter(([other]) =>
    (call.cloud.live(other)?.bindings ?? []).some(
      (binding) => binding.type === "service" && binding.service === name && other !== name,
    ),
  );
  if (dependants.length > 0 && call.url.searchParams.get("force") !== "true") {
    throw new Refused(
      400,
      10064,
      `Cannot delete this Worker: ${dependants[0]?.[0]} is bound to it.`,
    );
  }
  if (script.migration_tag !== undefined && call.url.searchParams.get("force") !== "true") {
    throw new Refused(400, 10064, "Cannot delete this Worker: it has Durable Objects.");
  }
  delete call.state.scripts[name];
}

/** @type {import("./cloud.mjs").Endpoint[]} */
export const workers = [
  [
    "GET",
    SCRIPTS,
    ({ state }) => Object.entries(state.scripts).map(([name, script]) => shownScript(name, script)),
  ],
  [
    "PUT",
    `${SCRIPTS}/:name`,
    async (call) => {
      const { script, version } = await upload(call);
      if (!call.half) deploy(call, script, version.id);
      return {
        ...shownScript(call.args[0] ?? "", script),
        deployment_id: version.id,
        startup_time_ms: 1,
        available_on_subdomain: script.subdomain.enabled,
      };
    },
  ],
  ["DELETE", `${SCRIPTS}/:name`, remove],
  ["DELETE", `${SERVICES}/:name`, remove],
  [
    "GET",
    `${SERVICES}/:name`,
    (call) => {
      const script = scriptOf(call);
      const name = call.args[0] ?? "";
      return {
        id: name,
        default_environment: {
          environment: "production",
          created_on: script.created_on,
          modified_on: script.created_on,
          script: { ...shownScript(name, script), tags: script.settings.tags ?? null },
        },
        created_on: script.created_on,
        environments: [{ environment: "production" }],
      };
    },
  ],
  [
    "GET",
    "/accounts/:account/workers/workers/:name",
    (call) => {
      const script = scriptOf(call);
      return { id: script.tag, name: call.args[0], subdomain: script.subdomain };
    },
  ],
  [
    "GET",
    `${SCRIPTS}/:name/settings`,
    (call) => {
      scriptOf(call);
      const live = call.cloud.live(call.args[0] ?? "");
      return {
        bindings: (live?.bindings ?? []).map((binding) => withoutSecret(binding)),
        compatibility_date: live?.compatibility_date,
        compatibility_flags: live?.compatibility_flags ?? [],
        usage_model: "standard",
      };
    },
  ],
  ["GET", `${SCRIPTS}/:name/script-settings`, (call) => scriptOf(call).settings],
  [
    "PATCH",
    `${SCRIPTS}/:name/script-settings`,
    (call) => {
      const script = scriptOf(call);
      script.settings = { ...script.settings, ...json(call) };
      return script.settings;
    },
  ],
  ["GET", `${SCRIPTS}/:name/subdomain`, (call) => scriptOf(call).subdomain],
  [
    "POST",
    `${SCRIPTS}/:name/subdomain`,
    (call) => {
      const script = scriptOf(call);
      const { enabled, previews_enabled } = json(call);
      script.subdomain = {
        enabled: enabled === true,
        previews_enabled: previews_enabled ?? script.subdomain.previews_enabled,
      };
      return script.subdomain;
    },
  ],
  [
    "GET",
    `${SCRIPTS}/:name/schedules`,
    (call) => ({ schedules: scriptOf(call).schedules.map((cron) => ({ cron })) }),
  ],
  [
    "PUT",
    `${SCRIPTS}/:name/schedules`,
    (call) => {
      const script = scriptOf(call);
      script.schedules = json(call).map((/** @type {{cron: string}} */ { cron }) => cron);
      return { schedules: script.schedules.map((cron) => ({ cron })) };
    },
  ],
  [
    "GET",
    `${SCRIPTS}/:name/secrets`,
    (call) => {
      scriptOf(call);
      const bindings = call.cloud.live(call.args[0] ?? "")?.bindings ?? [];
      return bindings
        .filter(({ type }) => type === "secret_text")
        .map((binding) => withoutSecret(binding));
    },
  ],
  [
    "PUT",
    `${SCRIPTS}/:name/secrets`,
    async (call) => {
      const { name, text } = json(call);
      call.logAs(JSON.stringify({ name, type: "secret_text" }));
      await setSecrets(call, scriptOf(call), { [name]: text });
      return { name, type: "secret_text" };
    },
  ],
  [
    "DELETE",
    `${SCRIPTS}/:name/secrets/:secret`,
    (call) => setSecrets(call, scriptOf(call), { [call.args[1] ?? ""]: null }),
  ],
  [
    "GET",
    `${SCRIPTS}/:name/versions`,
    (call) => ({ items: scriptOf(call).versions.map(shownVersion).reverse() }),
  ],
  [
    "POST",
    `${SCRIPTS}/:name/versions`,
    async (call) => {
      scriptOf(call);
      return shownVersion((await upload(call)).version);
    },
  ],
  [
    "GET",
    `${SCRIPTS}/:name/versions/:version`,
    (call) => {
      const version = scriptOf(call).versions.find(({ id }) => id === call.args[1]);
      if (version === undefined) throw new Refused(404, 100146, "no such version");
      return shownVersion(version);
    },
  ],
  [
    "GET",
    `${SCRIPTS}/:name/deployments`,
    (call) => ({ deployments: scriptOf(call).deployments.map(shownDeployment).reverse() }),
  ],
  [
    "POST",
    `${SCRIPTS}/:name/deployments`,
    (call) => {
      const script = scriptOf(call);
      const { versions, annotations } = json(call);
      const id = versions?.[0]?.version_id;
      if (!script.versions.some((version) => version.id === id)) {
        throw new Refused(400, 100146, `no such version: ${id}`);
      }
      return deploy(call, script, id, annotations ?? {});
    },
  ],
];
