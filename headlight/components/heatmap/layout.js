// The places of a heatmap's cells and labels.

const SIZES = [13, 12, 11, 10, 9]; // px, of labels; the largest that the cells have room for
const LARGEST = 48; // px, the side of a cell
const LONGEST = 14; // letters of a label
const APART = 7 / 6; // sizes of a label, between labels where not all are written
const EDGE = 10; // px, around the cells

/** @param {string} label */
export const shortened = (label) => (label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label);

/**
 * The place of the first cell, the side of each, and the size and angle of the labels.
 *
 * @param {CanvasRenderingContext2D} brush
 * @param {string} family - of the font
 * @param {{queries: string[], keys: string[], titles: {query: string, key: string}}} data
 * @param {number} width - px, of the whole
 * @param {number} height
 * @param {number} [least] - px, that no label is smaller than
 */
export function layOut(brush, family, { queries, keys, titles }, width, height, least = 0) {
  const sizes = SIZES.map((px) => Math.max(px, least));
  brush.font = `${sizes[0]}px ${family}`;
  const longest = (/** @type {string[]} */ labels) =>
    labels.reduce((most, label) => Math.max(most, brush.measureText(shortened(label)).width), 0);
  const [ofQueries, ofKeys, ofTitles] = [longest(queries), longest(keys), longest(Object.values(titles)) + 18];
  const left = Math.ceil(Math.max(ofQueries, ofTitles)) + EDGE;
  const pitchOf = (/** @type {number} */ top) =>
    Math.min(LARGEST, (width - left - EDGE) / keys.length, (height - top - 2) / queries.length);
  let [angle, top] = [0, 40];
  if (ofKeys > 0.9 * pitchOf(top)) [angle, top] = [90, Math.max(40, Math.ceil(ofKeys) + EDGE)];
  if (angle && pitchOf(Math.max(40, Math.ceil(ofKeys * 0.75) + 16)) >= 20) {
    [angle, top] = [45, Math.max(40, Math.ceil(ofKeys * 0.75) + 16)];
  }
  const right = angle === 45 ? Math.ceil(ofKeys * 0.6) : 0; // of the last label, beyond its column
  const pitch = Math.max(Math.min(pitchOf(top), (width - left - EDGE - right) / keys.length), 0.5);
  const size = sizes.find((px) => px + 1 <= pitch) ?? sizes[sizes.length - 1];
  return { left, top, pitch: pitch > 4 ? Math.floor(pitch * 2) / 2 : pitch, size, angle, family };
}

/**
 * Which labels are written: all, or as many as there is room for; the chosen one always, and none that touches it.
 *
 * @param {number} n - of tokens
 * @param {number} pitch - px, from one to the next
 * @param {number} size - px, of the letters
 * @param {number | null} chosen
 */
export function placesOfLabels(n, pitch, size, chosen) {
  const apart = pitch > size ? 0 : APART * size; // px
  const step = pitch >= size ? 1 : Math.ceil(apart / pitch);
  const places = [];
  for (let place = 0; place < n; place += step) {
    if (chosen === null || place === chosen || Math.abs(place - chosen) * pitch >= apart) places.push(place);
  }
  if (chosen !== null && chosen % step) places.push(chosen);
  return places;
}
