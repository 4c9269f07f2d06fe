// Another Worker whose RPC methods are tools, as src/tools/source/service.rs calls them. `Named` is one that does not
// tell them itself. Nothing here is bounded by itself: tests are.
import { WorkerEntrypoint } from "cloudflare:workers";

/** As good as never, and an end all the same for a request that nobody waits for. */
const NEVER_MS = 60_000;

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let atWork = 0;
let most = 0;

export default class Billing extends WorkerEntrypoint {
  async fetch() {
    return new Response("its methods are called");
  }

  /** @param {{principal: string, source: string}} context */
  describe(context) {
    const customer = { type: "string", minLength: 1 };
    const reads = { readOnlyHint: true };
    return [
      {
        name: "openInvoices",
        description: "Lists the invoices of a customer that are not paid.",
        inputSchema: {
          type: "object",
          properties: { customer },
          required: ["customer"],
          additionalProperties: false,
        },
        outputSchema: {
          type: "object",
          properties: { invoices: { type: "array", items: { type: "string" } } },
          required: ["invoices"],
        },
        annotations: reads,
      },
      { name: "forWhom", description: `Says for whom: ${context.principal}.`, annotations: reads },
      { name: "echo", description: "Returns its argument.", annotations: reads },
      { name: "document", description: "A file.", annotations: reads },
      { name: "nothing", annotations: reads },
      { name: "stub", description: "Returns what cannot cross.", annotations: reads },
      { name: "fails", description: "Throws.", annotations: reads },
      { name: "slow", description: "As good as never ends.", annotations: reads },
      { name: "work", description: "Counts who is at work at once.", annotations: reads },
      { name: "refund", description: "Pays back.", annotations: { destructiveHint: true } },
      { name: "gone", description: "There is no such method.", annotations: reads },
      { name: "fetch", description: "No method of RPC." },
    ];
  }

  /** @param {{customer: string}} argument */
  openInvoices({ customer }) {
    return { invoices: [`${customer}-1`, `${customer}-2`] };
  }

  /**
   * @param {unknown} _argument
   * @param {unknown} context
   */
  forWhom(_argument, context) {
    return context;
  }

  /** @param {unknown} argument */
  echo(argument) {
    return argument;
  }

  document() {
    return new Uint8Array([1, 2, 3]);
  }

  nothing() {}

  stub() {
    return () => 1;
  }

  fails() {
    throw new RangeError("the books are closed");
  }

  slow() {
    return sleep(NEVER_MS);
  }

  async work() {
    atWork += 1;
    most = Math.max(most, atWork);
    await sleep(300);
    atWork -= 1;
    return most;
  }

  refund() {
    return "refunded";
  }
}
