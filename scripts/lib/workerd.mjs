// How workerd is started on this machine.

/**
 * The environment by which miniflare, and wrangler with it, gives V8 its flags.
 *
 * Making an isolate has V8 throw away the code that its first compiler made of all Wasm in the process,
 * and each run makes an isolate. What was thrown away is never freed as long as any isolate is idle:
 * V8 asks every one whether it still uses it. So a run cost 15 ms to compile the worker anew and left
 * more than a megabyte behind, until the process had no room for code. With the flag nothing is thrown
 * away. Whoever sets flags of their own is not overruled.
 */
export const V8_FLAGS = {
  MINIFLARE_WORKERD_V8_FLAGS: process.env.MINIFLARE_WORKERD_V8_FLAGS ?? "--no-flush-liftoff-code",
};
