// The report as a picture: a bar for each contender and case, on a logarithmic scale.

const WIDTH = 900;
const LEFT = 250;
const RIGHT = 70;
const BAR = 11;
const ROW = 3 * BAR + 14;
const TOP = 60;
/** Milliseconds at both ends of the scale. */
const SCALE = { least: 1, most: 1_000 };

const CONTENDERS = [
  ["holdfast", "#1f6feb", "Holdfast, D1 included"],
  ["codemode", "#d29922", "@cloudflare/codemode"],
  ["floor", "#8b949e", "the bare platform"],
];

const escape = (/** @type {string} */ text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** @param {any} report */
export function picture({ rows, machine, at }) {
  const span = WIDTH - LEFT - RIGHT;
  const x = (/** @type {number} */ ms) =>
    LEFT +
    (span * Math.log(Math.min(SCALE.most, Math.max(SCALE.least, ms)) / SCALE.least)) /
      Math.log(SCALE.most / SCALE.least);
  const height = TOP + rows.length * ROW + 40;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>Holdfast beside codemode and the bare platform</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="20" font-size="14" font-weight="600">Median time of a request, milliseconds, logarithmic</text>`,
  ];
  let at0 = 12;
  for (const [, colour, label] of CONTENDERS) {
    out.push(
      `<rect x="${at0}" y="32" width="10" height="10" fill="${colour}"/>`,
      `<text x="${at0 + 15}" y="41">${escape(String(label))}</text>`,
    );
    at0 += 175;
  }
  for (const ms of [1, 10, 100, 1_000]) {
    out.push(
      `<line x1="${x(ms)}" y1="${TOP - 8}" x2="${x(ms)}" y2="${height - 30}" stroke="#d0d7de"/>`,
      `<text x="${x(ms)}" y="${height - 14}" text-anchor="middle" fill="#57606a">${ms}</text>`,
    );
  }
  for (const [i, { name, figures }] of rows.entries()) {
    const y = TOP + i * ROW;
    out.push(`<text x="${LEFT - 10}" y="${y + 22}" text-anchor="end">${escape(name)}</text>`);
    for (const [j, [who, colour]] of CONTENDERS.entries()) {
      const found = figures[String(who)];
      if (!found) continue;
      const wide = Math.max(1, x(found.medianMs) - LEFT);
      out.push(
        `<rect x="${LEFT}" y="${y + j * BAR}" width="${wide.toFixed(1)}" height="${BAR - 2}" fill="${colour}"/>`,
        `<text x="${(LEFT + wide + 4).toFixed(1)}" y="${y + j * BAR + 9}" font-size="10" fill="#57606a">${found.medianMs.toFixed(1)}</text>`,
      );
    }
  }
  out.push(
    `<text x="${WIDTH - 12}" y="20" text-anchor="end" fill="#57606a" font-size="10">${machine.cores} cores, workerd ${machine.workerd}, ${at.slice(0, 10)}</text>`,
    "</svg>",
  );
  return `${out.join("\n")}\n`;
}
