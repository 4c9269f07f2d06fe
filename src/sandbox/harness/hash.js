// The hash of a call: it tells accidents, not enemies. The host never makes a recorded call again,
// whatever its hash.

import { imul, text, uncurry } from "./intrinsics.js";

/**
 * 53 bits of a text, in base 36.
 *
 * @param {string} path
 * @param {string} args
 * @returns {string}
 */
export function hashCall(path, args) {
  let a = 0x811c9dc5;
  let b = 0x01000193 ^ args.length;
  for (let i = 0; i < path.length; i++) {
    const c = text.charCodeAt(path, i);
    a = imul(a ^ c, 0x01000193);
    b = imul(b ^ c, 0x85ebca6b);
  }
  for (let i = 0; i < args.length; i++) {
    const c = text.charCodeAt(args, i);
    a = imul(a ^ c, 0x01000193);
    b = imul(b ^ c, 0x85ebca6b);
  }
  return base36((a >>> 0) * 0x200000 + (b & 0x1fffff), 36);
}

const base36 = uncurry(Number.prototype.toString);
