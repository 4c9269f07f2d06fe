// The stand-in in node, for tests.
import { serve } from "../kit/serve.mjs";
import { GitHubMock } from "./github.mjs";

/** @param {{port?: number, token?: string}} [options] */
export function serveGitHub(options = {}) {
  return serve(() => new GitHubMock({ logLimit: 10_000 }), { ...options, shared: true });
}
