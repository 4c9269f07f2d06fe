// What is measured: one program a case, in the words of each contender.
//
// `body` is the inside of an async function that calls tools: `call({…})` one in another Worker, which
// Holdfast writes down before and after since it may change something; `look({…})` one that answers at
// the host and only reads. Holdfast takes a body as it is; codemode and the floor take an arrow function.

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} body
 * @property {"run" | "warm" | "mcp" | "parks"} [kind] `run` unless told: a program over HTTP
 * @property {boolean} [keyed] with an idempotency key, another each time
 * @property {number} [callers] at once; 1 unless told
 * @property {unknown} [result] what each contender has to answer
 * @property {boolean} [quick] part of `--quick`
 * @property {boolean} [compute] long: fewer rounds, and Holdfast without its guard beside it
 */

const sequential = (/** @type {number} */ n) =>
  `let sum = 0; for (let i = 0; i < ${n}; i++) sum += (await call({ n: 1 })).n; return sum;`;

const parallel = (/** @type {number} */ n) =>
  `const got = await Promise.all(Array.from({ length: ${n} }, () => call({ n: 1 }))); return got.length;`;

const reads = (/** @type {number} */ n) =>
  `for (let i = 0; i < ${n}; i++) await look({ n: 1 }); return ${n};`;

const MEGABYTE = 1_000_000;

/** A program of 200 KB, as much of it code as in any other. */
const LONG = `${Array.from(
  { length: 2_500 },
  (_, i) => `function step${i}(row) { return row.value * ${i} + row.offset - ${i % 7}; }`,
).join("\n")}\nreturn step1({ value: 2, offset: 1 });`;

/** @type {Case[]} */
export const CASES = [
  { name: "an empty program", body: "return 1;", result: 1, quick: true },
  { name: "an empty program, by MCP", body: "return 1;", kind: "mcp", quick: true },
  { name: "1 tool call", body: sequential(1), result: 1, quick: true },
  { name: "10 tool calls, one by one", body: sequential(10), result: 10 },
  { name: "100 tool calls, one by one", body: sequential(100), result: 100 },
  { name: "10 calls that read, one by one", body: reads(10), result: 10 },
  { name: "100 calls that read, one by one", body: reads(100), result: 100, quick: true },
  {
    name: "100 calls that read, 25 at once",
    body: `for (let i = 0; i < 4; i++) await Promise.all(Array.from({ length: 25 }, () => look({ n: 1 }))); return 100;`,
    ...{ result: 100, quick: true },
  },
  { name: "10 tool calls at once", body: parallel(10), result: 10 },
  { name: "30 tool calls at once", body: parallel(30), result: 30 },
  {
    name: "100 tool calls, 25 at once",
    body: `let n = 0; for (let i = 0; i < 4; i++) n += (await Promise.all(Array.from({ length: 25 }, () => call({ n: 1 })))).length; return n;`,
    result: 100,
  },
  {
    name: "1 MB there and back",
    body: `const text = "x".repeat(${MEGABYTE}); const back = await call({ n: 1, text }); return back.text.length;`,
    result: MEGABYTE,
  },
  { name: "a result of 1 MB", body: `return "x".repeat(${MEGABYTE});` },
  {
    name: "100 log lines",
    body: `for (let i = 0; i < 100; i++) console.log("line", i); return 1;`,
    result: 1,
    quick: true,
  },
  { name: "a program of 200 KB", body: LONG, result: 2, quick: true },
  {
    name: "a loop of 10^8",
    body: "let sum = 0; for (let i = 0; i < 100000000; i++) sum = (sum + i * 3) & 0xffff; return sum;",
    compute: true,
    quick: true,
  },
  { name: "a warm package call", body: "return 1;", kind: "warm", result: 1, quick: true },
  { name: "a call with a key", body: "return 1;", keyed: true, result: 1, quick: true },
  {
    ...{ name: "a warm package call with a key", body: "return 1;", kind: "warm", keyed: true },
    ...{ result: 1, quick: true },
  },
  { name: "a run that parks and resumes", body: "", kind: "parks" },
  { name: "8 callers at once", body: "return 1;", callers: 8, result: 1 },
  { name: "32 callers at once", body: "return 1;", callers: 32, result: 1 },
];
