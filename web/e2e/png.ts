/** Pictures of pages made small: a page has few colours, so some of them in a table are enough. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Each pixel as 0xRRGGBB, row by row. */
  readonly pixels: Uint32Array;
}

/** How many colours a picture has. More make the edges of letters smoother, and the file larger by a half. */
const most = 64;

const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** Writes a picture of few colours instead of the one that a browser took. */
export function small(png: Buffer): Buffer {
  const { width, height, pixels } = read(png);
  const { table, placeOf } = palette(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = placeOf.get(pixels[y * width + x] ?? 0) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // 8 bits, a table of colours, no interlacing
  const colours = Buffer.from(table.flatMap((colour) => bytes(colour)));
  return Buffer.concat([signature, chunk("IHDR", header), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

const bytes = (colour: number): [number, number, number] => [colour >> 16, (colour >> 8) & 255, colour & 255];

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

/** Reads what a browser writes: 8 bits for each of three or four channels, not interlaced. */
export function read(png: Buffer): Picture {
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]];
  if (kind !== 2 && kind !== 6) throw new Error(`a picture of kind ${kind} is not what a browser takes`);
  const channels = kind === 6 ? 4 : 3;
  const raw = unfiltered(inflateSync(Buffer.concat(data)), width * channels, channels);
  const pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; i++) pixels[i] = raw.readUIntBE(i * channels, 3);
  return { width, height, pixels };
}

/** Each row of a PNG says how it was predicted from what is left of and above it. */
function unfiltered(rows: Buffer, length: number, channels: number): Buffer {
  const count = rows.length / (length + 1);
  const out = Buffer.alloc(length * count);
  for (let y = 0; y < count; y++) {
    const filter = rows[y * (length + 1)] ?? 0;
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x < channels ? 0 : (out[at - channels] ?? 0);
      const above = y === 0 ? 0 : (out[at - length] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (out[at - length - channels] ?? 0);
      out[at] = (rows[y * (length + 1) + 1 + x] ?? 0) + predicted(filter, left, above, corner);
    }
  }
  return out;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 4) {
    const [a, b, c] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)];
    return a <= b && a <= c ? left : b <= c ? above : corner;
  }
  return [0, left, above, (left + above) >> 1][filter] ?? 0;
}

/**
 * Starts with the colour that is seen most, and goes on with the one that would be
 * off by most without a place of its own: surfaces stay exactly what they are, one
 * green word stays green, and what is rounded are edges of letters.
 */
function palette(pixels: Uint32Array): { table: number[]; placeOf: Map<number, number> } {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const all = [...counts].map(([colour, count]) => ({ colour, count, place: 0, off: Infinity })).sort((a, b) => b.count - a.count);
  const table: number[] = [];
  for (let next = all[0]; next && next.off > 0 && table.length < most; ) {
    const chosen = next.colour;
    const place = table.push(chosen) - 1;
    for (const one of all) {
      const off = distance(one.colour, chosen);
      if (off < one.off) Object.assign(one, { off, place });
    }
    next = all.reduce((worst, one) => (one.off * one.count > worst.off * worst.count ? one : worst));
  }
  return { table, placeOf: new Map(all.map(({ colour, place }) => [colour, place])) };
}

function distance(one: number, other: number): number {
  const [[r, g, b], [x, y, z]] = [bytes(one), bytes(other)];
  return (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
}
