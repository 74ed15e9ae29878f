// Bytes of files: a zip of several, and the resolution in a PNG.

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  return remainder;
});

function crc32(bytes) {
  let remainder = 0xffffffff;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ CRC_TABLE[(remainder ^ byte) & 0xff];
  return (remainder ^ 0xffffffff) >>> 0;
}

async function deflated(bytes) {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

export async function zip(files) {
  // files: [name, bytes] each; deflated (8) where that makes them shorter, else stored as they are (0).
  // Source: PKWARE, "APPNOTE.TXT", version 6.3.10, sections 4.3.7, 4.3.12, 4.3.16 and 4.4.5.
  const now = new Date();
  const time = (now.getHours() << 11) | (now.getMinutes() << 5) | (now.getSeconds() >> 1);
  const date = ((now.getFullYear() - 1980) << 9) | ((now.getMonth() + 1) << 5) | now.getDate();
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const label = new TextEncoder().encode(name);
    const UTF8 = 1 << 11;
    const packed = await deflated(bytes);
    const [method, content] = packed.length < bytes.length ? [8, packed] : [0, bytes];
    const sizes = [[4, content.length], [4, bytes.length]];
    const shared = [[2, 20], [2, UTF8], [2, method], [2, time], [2, date], [4, crc32(bytes)], ...sizes];
    const header = [...shared, [2, label.length], [2, 0]];
    parts.push(littleEndian([[4, 0x04034b50], ...header]), label, content);
    const entry = [[4, 0x02014b50], [2, 20], ...header, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]];
    directory.push(littleEndian(entry), label);
    offset += 30 + label.length + content.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const count = [2, files.length];
  const end = littleEndian([[4, 0x06054b50], [2, 0], [2, 0], count, count, [4, length], [4, offset], [2, 0]]);
  return joined([...parts, ...directory, end]);
}

function littleEndian(fields) {
  // fields: [bytes, value] each.
  const bytes = ([length, value]) => Array.from({ length }, (_, i) => (value >>> (8 * i)) & 0xff);
  return Uint8Array.from(fields.flatMap(bytes));
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

export function withResolution(png, dotsPerInch) {
  // Says how large a PNG is on paper. Source: W3C, "PNG", third edition, section 11.3.4.3 (pHYs).
  const perMeter = Math.round(dotsPerInch / 0.0254);
  const bytes = new Uint8Array(21);
  const chunk = new DataView(bytes.buffer);
  chunk.setUint32(0, 9);
  bytes.set([0x70, 0x48, 0x59, 0x73], 4); // "pHYs"
  chunk.setUint32(8, perMeter);
  chunk.setUint32(12, perMeter);
  chunk.setUint8(16, 1); // the unit is the meter
  chunk.setUint32(17, crc32(bytes.subarray(4, 17)));
  const first = 33; // the signature and the header
  return joined([png.subarray(0, first), bytes, png.subarray(first)]);
}
