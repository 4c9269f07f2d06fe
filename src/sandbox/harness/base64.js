// Bytes as base64, with the engine's own methods where it has them.

import { Bytes, apply, btoa, fromCharCode, min, text, uncurry, view } from "./intrinsics.js";

const { atob } = globalThis;
const { charCodeAt } = text;
const native = /** @type {any} */ (Uint8Array.prototype).toBase64;
const toBase64 = native === undefined ? undefined : uncurry(native);
const fromBase64 = /** @type {any} */ (Uint8Array).fromBase64;
const subarray = uncurry(Uint8Array.prototype.subarray);

/** Characters for one call of `fromCharCode`: its arguments stand on the stack. */
const CHUNK = 8192;

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function encodeBase64(bytes) {
  if (toBase64 !== undefined) return toBase64(bytes);
  let binary = "";
  const length = view.length(bytes);
  for (let i = 0; i < length; i += CHUNK) {
    binary += apply(fromCharCode, null, subarray(bytes, i, min(i + CHUNK, length)));
  }
  return btoa(binary);
}

/**
 * @param {string} base64
 * @returns {Uint8Array}
 */
export function decodeBase64(base64) {
  if (fromBase64 !== undefined) return fromBase64(base64);
  const binary = atob(base64);
  const bytes = new Bytes(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = charCodeAt(binary, i);
  return bytes;
}
