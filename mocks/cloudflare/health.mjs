// What the stand-in answers for a worker whose code it cannot run.

/**
 * @param {import("./cloud.mjs").Version} version
 * @param {Request} request
 * @returns {Response}
 */
export function health(version, request) {
  const sha = version.bindings.find(
    ({ name, type }) => name === "COMMIT_SHA" && type === "plain_text",
  );
  if (new URL(request.url).pathname === "/health") {
    return Response.json({ ok: true, version: "stand-in", commitSha: sha?.text ?? null });
  }
  return new Response("The stand-in cannot run this worker's code; only /health is answered.", {
    status: 501,
  });
}
