// What a large figure says of its cells; saved pages hold this as text, so it stands on its own.

export function fillInWords(figure) {
  // Gives the cells of a large figure their words, as headlight/figures/heatmaps/cells.py defines them.
  const words = figure.layout?.meta?.words;
  if (!words) return;
  const [, sign, decimals] = words.format.match(/^([+]?)[.]([0-9]+)f$/);
  const localized = (number) => number.replace(".", words.decimal);
  const written = (z) => {
    if (words.power) return z <= -6 ? words.below : localized(String(Number((10 ** z).toPrecision(2))));
    const size = Math.abs(z).toFixed(Number(decimals));
    return (z < 0 && Number(size) ? "\u2212" : sign) + localized(size);
  };
  for (const trace of figure.data) {
    if (trace.meta !== "words") continue;
    const rows = rowsOf(trace.z);
    trace.customdata = words.queries.map((query, row) =>
      words.keys.map((key, column) => {
        const z = rows[row][column];
        if (!Number.isFinite(z)) return "";
        const text = trace.name === words.forbidden ? words.forbidden : words.before + written(z);
        return `${query} \u2192 ${key}: ${text}`;
      }),
    );
  }
}

export function rowsOf(z) {
  // A matrix is a list of rows, or the bytes of its 32-bit numbers.
  if (!z.bdata) return z;
  const bytes = Uint8Array.from(atob(z.bdata), (letter) => letter.charCodeAt(0));
  const numbers = new Float32Array(bytes.buffer);
  const width = Number(z.shape.split(",")[1]);
  return Array.from({ length: numbers.length / width }, (_, row) => numbers.subarray(row * width, (row + 1) * width));
}
