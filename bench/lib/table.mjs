// The report as people read it in a terminal.

/** @typedef {any} Report what bench/bench.mjs puts together */

const COLUMNS = [
  ["holdfast", 10],
  ["in D1", 8],
  ["floor", 9],
  ["storing", 9],
  ["codemode", 10],
  ["÷ floor", 9],
  ["÷ floor*", 10],
  ["÷ storing", 11],
  ["÷ codemode", 12],
  ["÷ codemode*", 13],
];

const cells = (/** @type {string[]} */ texts) =>
  texts.map((text, i) => text.padStart(Number(COLUMNS[i]?.[1]))).join("");

/** @param {Report} report */
export function table({ at, machine, build, rows, bare, sizes, starts, memory }) {
  const width = Math.max(...rows.map((/** @type {any} */ { name }) => name.length), 40);
  const ms = (/** @type {number | undefined} */ value) =>
    value === undefined ? "" : value >= 100 ? value.toFixed(0) : value.toFixed(1);
  const ratio = (/** @type {number | undefined} */ a, /** @type {number | undefined} */ b) =>
    a === undefined || b === undefined ? "" : (a / b).toFixed(2);
  const lines = [
    `${machine.cores} cores, ${machine.platform}, load ${machine.loadBefore.toFixed(1)} at the start; ` +
      `workerd ${machine.workerd}, Node ${machine.node}; ${build} build; ${at}`,
    "Medians in milliseconds; below each the least, the processor time of workerd (D1 included) and the 99th percentile. * without the time in D1.",
    "",
    "".padEnd(width) + COLUMNS.map(([name, wide]) => String(name).padStart(Number(wide))).join(""),
  ];
  const listed = [
    ...rows,
    ...(bare ?? []).map((/** @type {any} */ row) => ({
      ...row,
      name: `${row.name}, workerd as it comes`,
    })),
  ];
  for (const { name, figures } of listed) {
    const { holdfast, floor, storing, codemode } = figures;
    const own = holdfast.d1Ms === undefined ? undefined : holdfast.medianMs - holdfast.d1Ms;
    lines.push(
      name.padEnd(width) +
        cells([
          ms(holdfast.medianMs),
          ms(holdfast.d1Ms),
          ms(floor?.medianMs),
          ms(storing?.medianMs),
          ms(codemode?.medianMs),
          ratio(holdfast.medianMs, floor?.medianMs),
          ratio(own, floor?.medianMs),
          ratio(holdfast.medianMs, storing?.medianMs),
          ratio(holdfast.medianMs, codemode?.medianMs),
          ratio(own, codemode?.medianMs),
        ]),
      `  least, of ${holdfast.rounds} rounds`.padEnd(width) +
        cells([
          ms(holdfast.minMs),
          "",
          ms(floor?.minMs),
          ms(storing?.minMs),
          ms(codemode?.minMs),
          ratio(holdfast.minMs, floor?.minMs),
          "",
          ratio(holdfast.minMs, storing?.minMs),
          ratio(holdfast.minMs, codemode?.minMs),
          "",
        ]),
      "  processor time".padEnd(width) +
        cells([
          ms(holdfast.cpuMs),
          "",
          ms(floor?.cpuMs),
          ms(storing?.cpuMs),
          ms(codemode?.cpuMs),
          ratio(holdfast.cpuMs, floor?.cpuMs),
          "",
          ratio(holdfast.cpuMs, storing?.cpuMs),
          ratio(holdfast.cpuMs, codemode?.cpuMs),
        ]),
      "  99th percentile".padEnd(width) +
        cells([ms(holdfast.p99Ms), "", ms(floor?.p99Ms), ms(storing?.p99Ms), ms(codemode?.p99Ms)]),
    );
    const unguarded = figures["holdfast without its guard"];
    if (unguarded) {
      lines.push(
        "  with the guard off".padEnd(width) +
          cells([
            ms(unguarded.medianMs),
            "",
            "",
            "",
            "",
            ratio(unguarded.medianMs, floor?.medianMs),
          ]),
      );
    }
  }
  lines.push("", ...dispatches(rows, width));
  if (starts) {
    lines.push(
      "",
      `First request after start: Holdfast ${ms(starts.holdfastMs)} ms, an empty worker in Rust ` +
        `${ms(starts.emptyMs)} ms (${ratio(starts.holdfastMs, starts.emptyMs)}).`,
    );
  }
  if (memory) {
    lines.push(
      "",
      "Memory of workerd, MB after 100 and 1,000 runs, what was added between; median of the 1,000 in ms:",
    );
    for (const { name, after100, after1000, medianMs } of memory) {
      const mb = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(0).padStart(8);
      lines.push(
        `  ${name}`.padEnd(width) +
          mb(after100) +
          mb(after1000) +
          mb(after1000 - after100) +
          ms(medianMs).padStart(10),
      );
    }
  }
  lines.push(
    "",
    `Size: ${sizes.map((/** @type {any} */ one) => `${one.name} ${(one.gzip / 1000).toFixed(1)} KB gzip`).join(", ")}.`,
  );
  return `${lines.join("\n")}\n`;
}

/**
 * What one tool call takes: the difference of a hundred and none, by hundred.
 *
 * @param {any[]} rows
 * @param {number} width
 */
function dispatches(rows, width) {
  const of = (/** @type {string} */ name) => rows.find((row) => row.name === name)?.figures;
  return [
    ...one("a call that reads", of("100 calls that read, one by one")),
    ...one("a tool call, written down", of("100 tool calls, one by one")),
  ];

  /**
   * @param {string} what
   * @param {any} hundred
   */
  function one(what, hundred) {
    const none = of("an empty program");
    if (!none || !hundred) return [];
    const each = (/** @type {string} */ who) => (hundred[who].cpuMs - none[who].cpuMs) / 100;
    const holdfast = each("holdfast");
    const [floor, storing, codemode] = [each("floor"), each("storing"), each("codemode")];
    const two = (/** @type {number} */ value) => value.toFixed(2);
    return [
      `${what}, processor time`.padEnd(width) +
        cells(
          [two(holdfast), "", two(floor), two(storing), two(codemode)].concat(
            two(holdfast / floor),
            "",
            two(holdfast / storing),
            two(holdfast / codemode),
          ),
        ),
    ];
  }
}
