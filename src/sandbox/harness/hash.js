// The hash of a call: it tells accidents, not enemies. The host never makes a recorded call again,
// whatever its hash.
//
// Every call of a fresh isolate is hashed by code that is not compiled yet, so it goes by words and
// calls nothing in the loop but `imul`.

import { Bytes, encodeInto, encoder, imul, text, uncurry, view } from "./intrinsics.js";

const base36 = uncurry(Number.prototype.toString);

/** Bytes of UTF-8 that are hashed at a time. */
const CHUNK = 4096;
const Words = Int32Array;
/** @type {Int32Array | undefined} Made by the first call: memory of its own is dear in a fresh isolate. */
let words;
/** @type {any} The same as bytes */
let bytes;

/**
 * 52 bits of a path and an argument, in base 36.
 *
 * @param {string} path
 * @param {string} args
 * @returns {string}
 */
export function hashCall(path, args) {
  if (words === undefined) {
    words = new Words(CHUNK / 4);
    bytes = new Bytes(view.buffer(words));
  }
  let rest = `${path}\n${args}`;
  let a = 0x811c9dc5;
  let b = rest.length;
  for (;;) {
    const { read, written } = encodeInto(encoder, rest, bytes);
    const count = (written + 3) >> 2;
    for (let i = written; i < count * 4; i++) bytes[i] = 0;
    for (let i = 0; i < count; i++) {
      a = imul(a ^ /** @type {number} */ (words[i]), 0x85ebca6b);
      a ^= a >>> 15;
      b = (b + a) ^ (b << 7) ^ (b >>> 3);
    }
    if (read === rest.length) break;
    rest = text.slice(rest, read);
  }
  return base36((a >>> 0) * 0x100000 + (b & 0xfffff), 36);
}
