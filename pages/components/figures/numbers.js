// The numbers and the words of a figure's cells. Saved pages hold `readGrids`, too, as text, so it stands on its own.

export function readGrids(figure) {
  // Makes rows of numbers of each heatmap's z, which comes as plotly.py writes arrays: type, base64, "rows, columns".
  const types = { f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array };
  Object.assign(types, { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array });
  for (const trace of figure.data) {
    if (trace.type !== "heatmap" || !trace.z?.bdata) continue;
    const bytes = Uint8Array.from(atob(trace.z.bdata), (letter) => letter.charCodeAt(0));
    const values = new types[trace.z.dtype](bytes.buffer);
    const [rows, columns] = trace.z.shape.split(",").map(Number);
    trace.z = Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
  }
}

export function gridOf(figure) {
  // Where the rows and columns of the figure's heatmaps begin, and where the last ones end, as places in the whole
  // text; null where it has none. In an overview one cell stands for several places.
  const trace = figure.data.find(({ type, z }) => type === "heatmap" && z?.length);
  if (!trace) return null;
  const { blocks } = figure.layout.meta ?? {};
  if (blocks) return { rows: blocks.queries, columns: blocks.keys };
  const starts = (first, n) => Array.from({ length: n + 1 }, (_, i) => first + i);
  return {
    rows: starts(trace.y?.[0] ?? trace.y0 ?? 0, trace.z.length),
    columns: starts(trace.x?.[0] ?? trace.x0 ?? 0, trace.z[0].length),
  };
}

export function plain(text) {
  // What plotly writes for its own label markup.
  const letters = { lt: "<", gt: ">", amp: "&", nbsp: " " };
  const untagged = text.replace(/<br\s*\/?>/g, ", ").replace(/<\/?[a-z][^>]*>/g, "");
  return untagged.replace(/&(lt|gt|amp|nbsp);/g, (_, name) => letters[name]);
}
