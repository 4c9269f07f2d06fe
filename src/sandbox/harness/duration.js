// How long `sleep` sleeps: milliseconds, a text such as `2h` or `1h 30m`, or the moment of a Date.

import { isNaN, text, toNumber } from "./intrinsics.js";
import { isoText, kindOf, timeOf } from "./kinds.js";

const Unreadable = TypeError;

/** @type {any} [unit, ms] */
const UNITS = [
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["min", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
];

/**
 * @param {any} what
 * @param {number} date program's wall time, Unix ms
 * @returns {number} milliseconds
 */
export function durationMs(what, date) {
  const ms = read(what, date);
  if (ms === null || !(ms < 1e15)) {
    throw new Unreadable(
      'sleep takes milliseconds, a text such as "90s", "2h" or "1h 30m", or a Date',
    );
  }
  return ms > 0 ? ms : 0;
}

/** @param {any} what @param {number} date @returns {number | null} */
function read(what, date) {
  if (typeof what === "number") return isNaN(what) ? null : what;
  if (typeof what === "string") return readText(what);
  if (typeof what !== "object" || what === null || kindOf(what) !== "date") return null;
  return isoText(what) === null ? null : timeOf(what) - date;
}

/** @param {string} what @returns {number | null} */
function readText(what) {
  let total = 0;
  let at = 0;
  while (at < what.length) {
    const start = at;
    while (isDigit(text.charCodeAt(what, at))) at++;
    const number = text.slice(what, start, at);
    const unitAt = at;
    while (isLetter(text.charCodeAt(what, at))) at++;
    const factor = factorOf(text.slice(what, unitAt, at));
    if (unitAt === start || factor === null) return null;
    total += toNumber(number) * factor;
    while (text.charCodeAt(what, at) === 32) at++;
  }
  return what.length === 0 ? null : total;
}

/** Digits and the decimal point. @param {number} code */
const isDigit = (code) => (code >= 48 && code <= 57) || code === 46;
/** @param {number} code */
const isLetter = (code) => code >= 97 && code <= 122;

/** @param {string} unit @returns {number | null} */
function factorOf(unit) {
  for (let i = 0; i < UNITS.length; i++) if (UNITS[i][0] === unit) return UNITS[i][1];
  return null;
}
