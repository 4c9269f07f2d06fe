// The body of a tunnelled request: read once, inflated by the platform, and held until it is
// known what of it goes on.
//
// Held bytes stay here, outside of Wasm, whose memory never shrinks. Rust sees each piece once
// and decides; nothing is decided here but that more was received than is allowed.

/* global FixedLengthStream -- the platform's own */

/** Bytes of one held block: pieces arrive 4 KiB long, and each array of its own costs some. */
const BLOCK_BYTES = 256 * 1024;

/** @typedef {{ createBrotliDecompress(): any }} Zlib */

/**
 * The platform's zlib, which alone knows brotli. It is there with the flag `nodejs_compat`.
 * @returns {Zlib | undefined}
 */
function zlib() {
  const { process } = /** @type {any} */ (globalThis);
  return process?.getBuiltinModule?.("node:zlib");
}

/**
 * Whether a body in this content-encoding can be read here.
 * @param {string} encoding
 * @returns {boolean}
 */
export function canInflate(encoding) {
  return encoding !== "br" || zlib() !== undefined;
}

/** Reads a body piece by piece. */
export class EnvelopeBody {
  /** @type {AsyncIterator<Uint8Array>} */
  #pieces;
  #received = 0;
  #limit;

  /**
   * @param {ReadableStream<Uint8Array> | null} stream
   * @param {string} encoding
   * @param {number} limit most bytes that may be received
   */
  constructor(stream, encoding, limit) {
    this.#limit = limit;
    this.#pieces = this.#inflated(this.#counted(stream), encoding)[Symbol.asyncIterator]();
  }

  /** Whether more was received than is allowed: the reason why `next` threw. */
  get outgrown() {
    return this.#received > this.#limit;
  }

  /**
   * The next piece, or `undefined` at the end. Throws for a body that is cut short or no such
   * format, and for one that is too large.
   * @returns {Promise<Uint8Array | undefined>}
   */
  async next() {
    const { done, value } = await this.#pieces.next();
    return done ? undefined : value;
  }

  /** Lets go of what was not read. */
  async cancel() {
    await this.#pieces.return?.();
  }

  /**
   * @param {ReadableStream<Uint8Array> | null} stream
   * @returns {AsyncGenerator<Uint8Array, void, void>}
   */
  async *#counted(stream) {
    if (stream === null) return;
    const reader = stream.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#received += value.byteLength;
        if (this.outgrown) throw new RangeError("the body is too large");
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /**
   * @param {AsyncGenerator<Uint8Array, void, void>} received
   * @param {string} encoding
   * @returns {AsyncIterable<Uint8Array>}
   */
  #inflated(received, encoding) {
    switch (encoding) {
      case "gzip":
      case "deflate":
        return through(received, new DecompressionStream(encoding));
      case "br":
        return throughBrotli(received);
      default:
        return received;
    }
  }
}

/**
 * Pushes `received` through a stream and yields what comes out. The stream holds writes back
 * while its output is not read, so a bomb is inflated only as far as it is looked at.
 * @param {AsyncGenerator<Uint8Array, void, void>} received
 * @param {{ readable: ReadableStream<Uint8Array>, writable: WritableStream<any> }} stream
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
async function* through(received, { readable, writable }) {
  const writer = writable.getWriter();
  const reader = readable.getReader();
  /** @type {unknown} */
  let failure;
  const written = (async () => {
    for await (const piece of received) await writer.write(piece);
    await writer.close();
  })().catch(async (error) => {
    failure = error;
    await writer.abort(error).catch(() => {});
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    await written;
    if (failure !== undefined) throw failure;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * @param {AsyncGenerator<Uint8Array, void, void>} received
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
async function* throughBrotli(received) {
  const decoder = /** @type {Zlib} */ (zlib()).createBrotliDecompress();
  (async () => {
    for await (const piece of received) {
      if (decoder.destroyed) return;
      await new Promise((taken) => decoder.write(piece, taken));
    }
    decoder.end();
  })().catch((error) => decoder.destroy(error));
  try {
    yield* decoder;
  } finally {
    decoder.destroy();
  }
}

/** Bytes in order, held in blocks. */
export class Held {
  /** @type {Uint8Array[]} */
  #blocks = [];
  #length = 0;

  /** @param {Uint8Array} piece */
  push(piece) {
    let taken = 0;
    while (taken < piece.byteLength) {
      const at = this.#length % BLOCK_BYTES;
      if (at === 0) this.#blocks.push(new Uint8Array(BLOCK_BYTES));
      const block = /** @type {Uint8Array} */ (this.#blocks.at(-1));
      const part = piece.subarray(taken, taken + BLOCK_BYTES - at);
      block.set(part, at);
      taken += part.byteLength;
      this.#length += part.byteLength;
    }
  }

  /** Forgets everything. */
  clear() {
    this.#blocks = [];
    this.#length = 0;
  }

  /**
   * A stream of the bytes in `ranges` (start, end, start, end, …), of known length. Each call
   * makes another one.
   * @param {Float64Array} ranges
   * @returns {ReadableStream<Uint8Array>}
   */
  stream(ranges) {
    const total = pairs(ranges).reduce((sum, [start, end]) => sum + end - start, 0);
    const { readable, writable } = new FixedLengthStream(total);
    const writer = writable.getWriter();
    (async () => {
      for (const part of this.#parts(ranges)) await writer.write(part);
      await writer.close();
    })().catch((error) => writer.abort(error).catch(() => {}));
    return readable;
  }

  /** @param {Float64Array} ranges */
  *#parts(ranges) {
    for (const [start, end] of pairs(ranges)) {
      for (let at = start; at < end;) {
        const from = at % BLOCK_BYTES;
        const to = Math.min(BLOCK_BYTES, from + end - at);
        // A copy: what is written to a stream may be taken away from whoever wrote it.
        yield this.#blocks[Math.floor(at / BLOCK_BYTES)]?.slice(from, to);
        at += to - from;
      }
    }
  }
}

/**
 * @param {Float64Array} flat start, end, start, end, …
 * @returns {[number, number][]}
 */
function pairs(flat) {
  /** @type {[number, number][]} */
  const list = [];
  for (let i = 0; i + 1 < flat.length; i += 2) list.push([flat[i] ?? 0, flat[i + 1] ?? 0]);
  return list;
}
