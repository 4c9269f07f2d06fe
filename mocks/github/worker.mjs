// The stand-in as a Worker.
import { handler, objectClass } from "../kit/durable.mjs";
import { GitHubMock } from "./github.mjs";

export const GitHubObject = objectClass(() => new GitHubMock());

export default handler("GITHUBS");
