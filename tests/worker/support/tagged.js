// Values of the cases' files as tagged JSON, and as the plain form that a client reads.
//
// In a case `{"$repeat": ["ab", 3]}` stands for `"ababab"`, and `{"$bytes": base64}` for bytes.

/**
 * A value of a case as the codec writes it (src/sandbox/harness/codec.js).
 *
 * @param {any} value
 * @returns {string}
 */
export function tagged(value) {
  if (Array.isArray(value)) return `[${value.map(tagged).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const whole = expandedHere(value);
  if (whole !== value) return tagged(whole);
  if (isBytes(value)) return `{"$":"bytes","v":${JSON.stringify(value.$bytes)}}`;
  const fields = Object.keys(value).map((key) => `${JSON.stringify(key)}:${tagged(value[key])}`);
  const object = `{${fields.join(",")}}`;
  return Object.hasOwn(value, "$") ? `{"$":"object","v":${object}}` : object;
}

/**
 * A value of a case as a client reads it.
 *
 * @param {any} value
 * @returns {any}
 */
export function expanded(value) {
  if (Array.isArray(value)) return value.map(expanded);
  if (typeof value !== "object" || value === null) return value;
  const whole = expandedHere(value);
  if (whole !== value) return whole;
  // Not an assignment: `__proto__` is a key like any other.
  return Object.fromEntries(Object.keys(value).map((key) => [key, expanded(value[key])]));
}

/** @param {any} value an object */
function expandedHere(value) {
  if (!Object.hasOwn(value, "$repeat") || Object.keys(value).length !== 1) return value;
  const [text, times] = value.$repeat;
  return text.repeat(times);
}

/** @param {any} value an object */
const isBytes = (value) => typeof value.$bytes === "string" && Object.keys(value).length === 1;
