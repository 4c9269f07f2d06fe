// The tool that every contender calls: gives back what it was given.
import { WorkerEntrypoint } from "cloudflare:workers";

export default class Tools extends WorkerEntrypoint {
  fetch() {
    return new Response("ok");
  }

  async tools() {
    return '["echo"]';
  }

  /**
   * @param {string} _path
   * @param {string} argument
   */
  async call(_path, argument) {
    return `{"value":${argument}}`;
  }
}
