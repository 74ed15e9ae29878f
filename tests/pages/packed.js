// What packing.py packs for a component, made here.

/** A header and the bytes of numbers behind it; they begin at any place, as in what Streamlit hands over. */
export function packed(header, numbers) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const whole = new Uint8Array(3 + 4 + text.length + bytes.length).subarray(3);
  new DataView(whole.buffer, 3).setUint32(0, text.length, true);
  whole.set(text, 4);
  whole.set(bytes, 4 + text.length);
  return whole;
}
