// What mounting.py packs for a component, made here.

/** A header and the numbers after it, each array in its own kind; they begin at any place, as in what Streamlit hands over. */
export function packed(header, ...arrays) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(Uint32Array.of(text.length).buffer);
  const numbers = arrays.map((array) => (ArrayBuffer.isView(array) ? array : Uint8Array.from(array)));
  const parts = [size, text, ...numbers.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))];
  const whole = new Uint8Array(3 + parts.reduce((sum, { length }) => sum + length, 0)).subarray(3);
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}
