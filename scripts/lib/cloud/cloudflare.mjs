// The Cloudflare API as the deploy scripts use it. Uploads are wrangler's.
import { Problem } from "./log.mjs";
import { ApiError, requestJson } from "./http.mjs";

const PER_PAGE = 100;

/** Codes that say "there is no such worker". */
const NO_SUBDOMAIN_CODE = 10_007;

/**
 * @typedef {{uuid: string, name: string}} Database
 * @typedef {{id: string, title: string}} Namespace
 * @typedef {{type: string, name: string, [key: string]: any}} Binding
 */

export class Cloudflare {
  #base;
  #token;
  #dryRun;
  /** @type {Promise<string> | undefined} */
  #account;
  /** @type {Promise<string> | undefined} */
  #subdomain;

  /** @param {{baseUrl: string, token: string, accountId?: string, dryRun?: boolean}} options */
  constructor({ baseUrl, token, accountId, dryRun = false }) {
    this.#base = baseUrl.replace(/\/$/, "");
    this.#token = token;
    this.#dryRun = dryRun;
    if (accountId) this.#account = Promise.resolve(accountId);
  }

  /**
   * @param {NodeJS.ProcessEnv} env
   * @param {{dryRun?: boolean}} [options]
   */
  static fromEnv(env, options = {}) {
    const token = env.CLOUDFLARE_API_TOKEN;
    if (!token) {
      throw new Problem(
        "CLOUDFLARE_API_TOKEN is not set. Make a token with the permissions that docs/operate.md lists and set it.",
      );
    }
    return new Cloudflare({
      baseUrl: env.CLOUDFLARE_API_BASE_URL || "https://api.cloudflare.com/client/v4",
      token,
      ...(env.CLOUDFLARE_ACCOUNT_ID ? { accountId: env.CLOUDFLARE_ACCOUNT_ID } : {}),
      ...options,
    });
  }

  /** The account: as configured, or the only one that the token reaches. */
  accountId() {
    this.#account ??= (async () => {
      /** @type {{id: string, name: string}[]} */
      const accounts = await this.#pages("/accounts");
      const [only] = accounts;
      if (only !== undefined && accounts.length === 1) return only.id;
      const names = accounts.map(({ id, name }) => `${name} (${id})`).join(", ");
      throw new Problem(
        `CLOUDFLARE_ACCOUNT_ID is not set, and the token reaches ${accounts.length} accounts: ${names || "none"}.`,
      );
    })();
    return this.#account;
  }

  /** The account's name under workers.dev. */
  subdomain() {
    this.#subdomain ??= (async () => {
      const found = await this.#find("/workers/subdomain");
      if (found === undefined) {
        throw new Problem(
          "The account has no workers.dev name yet. Open Workers & Pages in the dashboard once and choose one.",
        );
      }
      return /** @type {string} */ (found.subdomain);
    })();
    return this.#subdomain;
  }

  // D1

  /** @returns {Promise<Database[]>} */
  databases() {
    return this.#accountPages("/d1/database");
  }

  /**
   * @param {string} name
   * @returns {Promise<Database | undefined>}
   */
  async findDatabase(name) {
    /** @type {Database[]} */
    const found = await this.#accountPages("/d1/database", { name });
    return found.find((database) => database.name === name);
  }

  /**
   * @param {string} name
   * @returns {Promise<Database>}
   */
  createDatabase(name) {
    return this.#create(
      () => this.#send("POST", "/d1/database", { name }),
      () => this.findDatabase(name),
    );
  }

  /** @param {string} uuid */
  deleteDatabase(uuid) {
    return this.#remove(`/d1/database/${uuid}`);
  }

  /**
   * @param {string} uuid
   * @param {string} sql
   * @param {string[]} [params]
   * @returns {Promise<Record<string, any>[]>} The rows of the last statement.
   */
  async query(uuid, sql, params = []) {
    const results = await this.#call("POST", `/d1/database/${uuid}/query`, { sql, params });
    return results.at(-1)?.results ?? [];
  }

  /**
   * Any number of statements, all or none of which take effect. One try: whether a failed one was
   * carried out is the caller's to find out.
   *
   * @param {string} uuid
   * @param {string} sql
   */
  async change(uuid, sql) {
    await this.#send("POST", `/d1/database/${uuid}/query`, { sql }, 1);
  }

  // KV

  /** @returns {Promise<Namespace[]>} */
  namespaces() {
    return this.#accountPages("/storage/kv/namespaces");
  }

  /** @param {string} title */
  async findNamespace(title) {
    return (await this.namespaces()).find((namespace) => namespace.title === title);
  }

  /**
   * @param {string} title
   * @returns {Promise<Namespace>}
   */
  createNamespace(title) {
    return this.#create(
      () => this.#send("POST", "/storage/kv/namespaces", { title }),
      () => this.findNamespace(title),
    );
  }

  /** @param {string} id */
  deleteNamespace(id) {
    return this.#remove(`/storage/kv/namespaces/${id}`);
  }

  // Workflows

  /** @returns {Promise<{name: string, script_name: string, class_name: string}[]>} */
  workflows() {
    return this.#accountPages("/workflows");
  }

  /** @param {string} name */
  findWorkflow(name) {
    return this.#find(`/workflows/${name}`);
  }

  /** @param {string} name */
  deleteWorkflow(name) {
    return this.#remove(`/workflows/${name}`);
  }

  // Workers

  /** @returns {Promise<{id: string}[]>} `id` is the name. */
  workers() {
    return this.#accountPages("/workers/scripts");
  }

  /**
   * Bindings and compatibility date of what is live.
   *
   * @param {string} name
   * @returns {Promise<{bindings: Binding[], compatibility_date?: string, compatibility_flags?: string[]} | undefined>}
   */
  workerSettings(name) {
    return this.#find(`/workers/scripts/${name}/settings`);
  }

  /**
   * @param {string} name
   * @returns {Promise<{enabled: boolean, previews_enabled: boolean} | undefined>}
   */
  workerAddress(name) {
    return this.#find(`/workers/scripts/${name}/subdomain`);
  }

  /**
   * @param {string} name
   * @returns {Promise<string[]>}
   */
  async schedules(name) {
    const found = await this.#find(`/workers/scripts/${name}/schedules`);
    return (found?.schedules ?? []).map((/** @type {{cron: string}} */ { cron }) => cron);
  }

  /**
   * The secrets' names.
   *
   * @param {string} name
   * @returns {Promise<string[]>} Empty when there is no such worker.
   */
  async secretNames(name) {
    /** @type {Binding[] | undefined} */
    const found = await this.#find(`/workers/scripts/${name}/secrets`);
    return (found ?? []).map((secret) => secret.name);
  }

  /**
   * @param {string} name
   * @param {string} secret
   * @param {string} text
   */
  putSecret(name, secret, text) {
    return this.#send("PUT", `/workers/scripts/${name}/secrets`, {
      name: secret,
      text,
      type: "secret_text",
    });
  }

  /**
   * What answers requests: the newest deployment's version.
   *
   * @param {string} name
   * @returns {Promise<{versionId: string, at: string} | undefined>}
   */
  async liveVersion(name) {
    const found = await this.#find(`/workers/scripts/${name}/deployments`);
    const newest = found?.deployments?.[0];
    const versionId = newest?.versions?.[0]?.version_id;
    return versionId === undefined ? undefined : { versionId, at: newest.created_on };
  }

  /**
   * `force`: previews may have Durable Objects and bindings to each other; all of it goes.
   *
   * @param {string} name
   */
  deleteWorker(name) {
    return this.#remove(`/workers/scripts/${name}?force=true`);
  }

  // How

  /**
   * Creates by name, and takes what is there when an earlier try (or run) has made it already.
   *
   * @template T
   * @param {() => Promise<T>} create
   * @param {() => Promise<T | undefined>} find
   * @returns {Promise<T>}
   */
  async #create(create, find) {
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401 || error.status === 403) throw error;
      const found = await find();
      if (found === undefined) throw error;
      return found;
    }
  }

  /**
   * @param {string} path
   * @returns {Promise<boolean>} False when it was gone already.
   */
  async #remove(path) {
    try {
      await this.#send("DELETE", path);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  /**
   * @param {string} path
   * @returns {Promise<any>} Nothing when it does not exist.
   */
  async #find(path) {
    try {
      return await this.#call("GET", path);
    } catch (error) {
      const isMissing =
        error instanceof ApiError && (error.status === 404 || error.code === NO_SUBDOMAIN_CODE);
      if (isMissing) return undefined;
      throw error;
    }
  }

  /**
   * A call that changes something.
   *
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {number} [attempts]
   */
  #send(method, path, body, attempts) {
    if (this.#dryRun) throw new Error(`a dry run must not send ${method} ${path}`);
    return this.#call(method, path, body, attempts);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {number} [attempts]
   * @returns {Promise<any>}
   */
  async #call(method, path, body, attempts) {
    const at = `/accounts/${await this.accountId()}${path}`;
    return (await this.#request(method, at, body, attempts)).result;
  }

  /**
   * @param {string} path
   * @param {Record<string, string>} [query]
   * @returns {Promise<any[]>}
   */
  async #accountPages(path, query) {
    return this.#pages(`/accounts/${await this.accountId()}${path}`, query);
  }

  /**
   * The whole list. Lists that have no pages answer without `result_info`.
   *
   * @param {string} path
   * @param {Record<string, string>} [query]
   * @returns {Promise<any[]>}
   */
  async #pages(path, query = {}) {
    /** @type {any[]} */
    const items = [];
    for (let page = 1; ; page += 1) {
      const params = new URLSearchParams({
        ...query,
        page: String(page),
        per_page: String(PER_PAGE),
      });
      const { result, result_info: info } = await this.#request("GET", `${path}?${params}`);
      items.push(...(result ?? []));
      const total = info?.total_count;
      if (!info || !(result?.length > 0)) return items;
      // Some lists leave the total out; then an empty page is their end.
      if (typeof total === "number" && items.length >= total) return items;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {number} [attempts]
   */
  async #request(method, path, body, attempts) {
    const headers = { authorization: `Bearer ${this.#token}`, "user-agent": "holdfast-deploy" };
    const answer = await requestJson(
      `${this.#base}${path}`,
      { method, headers, body, ...(attempts === undefined ? {} : { attempts }) },
      (_, failed) => {
        const [first] = failed?.errors ?? [];
        return { code: first?.code, message: first?.message ?? "" };
      },
    );
    return answer.body ?? {};
  }
}
