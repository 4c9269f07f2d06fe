// Small pictures of pages: a PNG of at most 256 colours, which is what a flat page has, nearly.
//
// What Chromium writes (8 bits, RGB or RGBA, not interlaced) is read; each pixel takes the nearest of
// the colours that are used most.
import zlib from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const COLOURS = 256;

/**
 * @param {Buffer} png
 * @returns {Buffer}
 */
export function small(png) {
  const { width, height, pixels } = read(png);
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, COLOURS)
    .map(([colour]) => colour);
  const places = new Map(palette.map((colour, place) => [colour, place]));
  const rows = Buffer.alloc(height * (width + 1)); // each begins with its filter, which is none
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = pixels[y * width + x] ?? 0;
      let place = places.get(colour);
      if (place === undefined) places.set(colour, (place = nearest(palette, colour)));
      rows[y * (width + 1) + 1 + x] = place;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8); // 8 bits, by palette
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))),
    chunk("IDAT", zlib.deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * @param {number[]} palette
 * @param {number} colour
 */
function nearest(palette, colour) {
  let found = 0;
  let least = Infinity;
  for (const [place, one] of palette.entries()) {
    const distance =
      ((one >> 16) - (colour >> 16)) ** 2 +
      (((one >> 8) & 255) - ((colour >> 8) & 255)) ** 2 +
      ((one & 255) - (colour & 255)) ** 2;
    if (distance < least) [found, least] = [place, distance];
  }
  return found;
}

/**
 * @param {Buffer} png
 * @returns {{width: number, height: number, pixels: Uint32Array}} pixels as 0xRRGGBB
 */
export function read(png) {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error("This is no PNG.");
  let [width, height, size] = [0, 0, 0];
  /** @type {Buffer[]} */
  const parts = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      size = { 2: 3, 6: 4 }[body[9] ?? 0] ?? 0;
      if (body[8] !== 8 || size === 0 || body[12] !== 0) throw new Error("A PNG of another form.");
    } else if (kind === "IDAT") {
      parts.push(body);
    }
    at += 12 + length;
  }
  const data = zlib.inflateSync(Buffer.concat(parts));
  const stride = width * size;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)] ?? 0;
    const row = data.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1));
    for (let i = 0; i < stride; i++) {
      const left = i >= size ? (row[i - size] ?? 0) : 0;
      const up = above[i] ?? 0;
      const corner = i >= size ? (above[i - size] ?? 0) : 0;
      row[i] = (row[i] ?? 0) + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
    for (let x = 0; x < width; x++) {
      const i = x * size;
      pixels[y * width + x] = ((row[i] ?? 0) << 16) | ((row[i + 1] ?? 0) << 8) | (row[i + 2] ?? 0);
    }
    above = row;
  }
  return { width, height, pixels };
}

/** @param {number} left @param {number} up @param {number} corner */
function paeth(left, up, corner) {
  const [a, b, c] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** @param {string} kind @param {Buffer} body */
function chunk(kind, body) {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), body]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(body.length, 0);
  out.set(named, 4);
  out.writeUInt32BE(zlib.crc32(named), named.length + 4);
  return out;
}
