// Randomness from a recorded seed.
//
// ChaCha20 as a stream of words: what a program makes of it (tokens, ids) stays unguessable to anyone
// who has not read the journal, and is the same in a replay. The seed is as secret as the journal.

import { Bytes, text, toNumber, view } from "./intrinsics.js";

const { slice } = text;
const WORDS = 16;

const Words = Uint32Array;

/** Sixteen words; every index below is in range. @returns {any} */
const words = () => new Words(WORDS);

/** @param {number} value @param {number} by */
const rotate = (value, by) => (value << by) | (value >>> (32 - by));

/**
 * One quarter round on four words of `s`.
 *
 * @param {any} s
 * @param {number} a @param {number} b @param {number} c @param {number} d
 */
function quarter(s, a, b, c, d) {
  s[a] += s[b];
  s[d] = rotate(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = rotate(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = rotate(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = rotate(s[b] ^ s[c], 7);
}

/**
 * The stream of a seed of 64 hex digits.
 *
 * @param {string} seed
 */
export function createRandom(seed) {
  const state = words();
  const block = words();
  let used = WORDS;

  state[0] = 0x61707865;
  state[1] = 0x3320646e;
  state[2] = 0x79622d32;
  state[3] = 0x6b206574;
  for (let i = 0; i < 8; i++) state[4 + i] = toNumber(`0x${slice(seed, i * 8, i * 8 + 8)}`);

  function refill() {
    for (let i = 0; i < WORDS; i++) block[i] = state[i];
    for (let i = 0; i < 10; i++) {
      quarter(block, 0, 4, 8, 12);
      quarter(block, 1, 5, 9, 13);
      quarter(block, 2, 6, 10, 14);
      quarter(block, 3, 7, 11, 15);
      quarter(block, 0, 5, 10, 15);
      quarter(block, 1, 6, 11, 12);
      quarter(block, 2, 7, 8, 13);
      quarter(block, 3, 4, 9, 14);
    }
    for (let i = 0; i < WORDS; i++) block[i] += state[i];
    state[12]++;
    if (state[12] === 0) state[13]++;
    used = 0;
  }

  function word() {
    if (used === WORDS) refill();
    return block[used++];
  }

  /** A number in [0, 1) with all 53 bits. */
  const float = () => ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;

  /** @param {Uint8Array} bytes */
  function fill(bytes) {
    const length = view.length(bytes);
    for (let i = 0, left = 0; i < length; i++, left >>>= 8) {
      if (i % 4 === 0) left = word();
      bytes[i] = left & 255;
    }
    return bytes;
  }

  /** A version 4 UUID. */
  function uuid() {
    /** @type {any} */
    const bytes = fill(new Bytes(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    let out = "";
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) out += "-";
      out += HEX[bytes[i] >> 4] + HEX[bytes[i] & 15];
    }
    return out;
  }

  return { float, fill, uuid };
}

/** @type {any} */
const HEX = "0123456789abcdef";
