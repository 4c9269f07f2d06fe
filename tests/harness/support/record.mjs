// The record of a run as a host keeps it, and a host that answers an attempt from it: the least that the
// protocol of docs/sandbox.md needs. Used in workerd and in Node alike.

/** A run: what was recorded of it, what people decided. */
export const createRun = () => ({
  events: [],
  calls: [],
  replies: new Map(),
  logs: [],
  asked: new Set(),
  decisions: new Map(),
  started: new Map(),
  messages: 0,
  attempts: 0,
});

/** The journal that a later attempt is given; null for the first. */
export const journalOf = (/** @type {any} */ run) =>
  run.attempts === 0
    ? null
    : {
        events: run.events,
        calls: run.calls.map((/** @type {any} */ { hash, at }, /** @type {number} */ n) =>
          run.replies.has(n) ? { hash, at, reply: run.replies.get(n) } : { hash, at },
        ),
        logs:
          run.logs.length === 0
            ? 0
            : Math.max(...run.logs.map((/** @type {any} */ [number]) => number)) + 1,
      };

/**
 * The function that is lent to one attempt, and `take`, which it applies to the end too.
 *
 * @param {any} run
 * @param {{ tool: (path: string, args: any, n: number, begun: () => void) => Promise<any>, asks?: (path: string) => boolean, park?: () => boolean }} of
 *
 * `tool(path, args, n, begun)` answers a reply `{value}` or `{error}` and calls `begun` when it really starts; `asks(path)` says whether a person must decide.
 */
export function attemptHost(
  /** @type {any} */ run,
  { tool, asks = () => false, park = () => true },
) {
  let received = run.events.length;
  const take = (/** @type {any} */ message) => {
    if (message.base !== received) {
      throw new Error(`events from ${message.base}, ${received} known`);
    }
    run.events.push(...(message.events ?? []));
    received = run.events.length;
    const known = new Set(run.logs.map((/** @type {any} */ [number]) => number));
    for (const line of message.logs ?? []) if (!known.has(line[0])) run.logs.push(line);
    run.messages++;
  };
  const call = async (/** @type {any} */ n) => {
    if (run.replies.has(n)) return run.replies.get(n);
    const { path, args } = run.calls[n];
    if (asks(path)) {
      const decision = run.decisions.get(n);
      if (decision === undefined) {
        run.asked.add(n);
        return { waiting: true };
      }
      if (decision !== "allow") {
        const reply = {
          error: { name: "Declined", message: `a person declined ${path}`, tool: path },
        };
        run.replies.set(n, reply);
        return reply;
      }
    }
    const reply = await tool(path, args, n, () =>
      run.started.set(path, (run.started.get(path) ?? 0) + 1),
    );
    run.replies.set(n, reply);
    return reply;
  };
  const decided = (/** @type {any} */ n) =>
    new Promise((resolve) => {
      const look = () => (run.decisions.has(n) ? resolve({ go: true }) : setTimeout(look, 5));
      look();
    });
  const answer = async (/** @type {any} */ message) => {
    switch (message.t) {
      case "decided":
        return decided(message.n);
      case "call":
        run.calls[message.n] ??= {
          path: message.path,
          args: message.args,
          hash: message.hash,
          at: message.at,
        };
        return call(message.n);
      case "step":
        run.calls[message.n] ??= {
          path: "step",
          args: message.args,
          hash: message.hash,
          at: message.at,
        };
        return {};
      case "again":
        return call(message.n);
      case "done":
        if (!run.replies.has(message.n)) run.replies.set(message.n, message.reply);
        return run.replies.get(message.n);
      case "quiet":
        return park() ? { park: true } : new Promise(() => {});
      default:
        return {};
    }
  };
  return {
    take,
    host: async (/** @type {any} */ text) => {
      const message = JSON.parse(text);
      take(message);
      return JSON.stringify(await answer(message));
    },
  };
}
