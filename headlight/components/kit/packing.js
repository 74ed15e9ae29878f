// Takes apart what mounting.py packs: a header's length (uint32, little endian), the header as JSON, then the bytes.

/** @param {Uint8Array} data */
export function unpack(data) {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  return { header, rest: data.subarray(4 + length) };
}
