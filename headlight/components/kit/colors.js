// Colors as numbers: red, green and blue from 0 to 255.

/** @param {string} hex - "#RRGGBB" */
export const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/**
 * A color on a scale, mixed between its two neighbours; beyond the ends, the color of the end.
 *
 * @param {[number, number[]][]} stops - values, ascending, each with its channels
 * @param {number} value
 */
export function mixed(stops, value) {
  const next = stops.findIndex(([stop]) => stop >= value);
  const high = next < 0 ? stops.length - 1 : Math.max(next, 1);
  const [[start, low], [end, top]] = [stops[high - 1], stops[high]];
  const share = Math.min(Math.max((value - start) / (end - start), 0), 1);
  return low.map((part, i) => Math.round(part + (top[i] - part) * share));
}
