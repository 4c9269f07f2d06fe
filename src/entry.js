// The worker's main module: the classes that only JavaScript can declare, and by hand what may
// be called on them. All logic is Rust; nothing else belongs here.
//
// `new Rust(ctx, env)` goes through worker-build's proxy, which makes a new Wasm instance after a
// panic. Calling `Rust.prototype.x.call(this)` would go round it.
import { WorkerEntrypoint, WorkflowEntrypoint } from "cloudflare:workers";
import Rust from "../build/index.js";
import { answered, called } from "./report/in_flight.js";

/** Answers HTTP and the schedule. */
export default class Api extends WorkerEntrypoint {
  #rust = new Rust(this.ctx, this.env);

  /** @param {Request} request */
  fetch(request) {
    return answered(() => this.#rust.fetch(request));
  }

  scheduled() {
    return this.#rust.sweep();
  }
}

/**
 * One attempt of a run, in a request of its own: it has its own allowance of sub-workers, and what
 * the program left running ends with it.
 */
export class Attempt extends WorkerEntrypoint {
  /**
   * @param {string} order JSON, see src/attempt/order.rs
   * @param {() => Promise<string>} aborted settles with the reason when the caller has left
   * @param {((text: string) => void) | undefined} told hears how far the calls of the program are
   * @returns {Promise<string>}
   */
  start(order, aborted, told) {
    return called(() => new Rust(this.ctx, this.env).startAttempt(order, aborted, told));
  }
}

/** One durable run: what the engine drives, segment by segment. */
export class RunWorkflow extends WorkflowEntrypoint {
  /**
   * @param {Readonly<import("cloudflare:workers").WorkflowEvent<unknown>>} event
   * @param {import("cloudflare:workers").WorkflowStep} step
   * @returns {Promise<void>}
   */
  run(event, step) {
    return called(() => new Rust(this.ctx, this.env).runWorkflow(event.instanceId, step));
  }
}
