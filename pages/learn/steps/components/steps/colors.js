// Colors of numbers, and pictures of whole quantities: one pixel a number, drawn as large as they are needed.

import { brushOf } from "../../../../../headlight/components/kit/canvas.js";
import { channels, mixed } from "../../../../../headlight/components/kit/colors.js";

const LEVELS = 255; // of a scale, from its lowest to its highest number
const ALLOWED = 46; // the level of a 1 in the mask
const pictures = new WeakMap(); // of a quantity's numbers: what was painted of them, by theme

function scaleOf(colors) {
  // LEVELS + 1 colors, evenly along the given ones.
  const stops = colors.map((color, i) => [i / (colors.length - 1), channels(color)]);
  return Array.from({ length: LEVELS + 1 }, (_, level) => mixed(stops, level / LEVELS));
}

export function makePalette({ colors }, theme) {
  // Numbers of a fixed hue: above zero in that hue, below it in grey, so that the sign is seen.
  const { diverging, sequential, background, muted, forbidden, notFinite, text, accent, border } = colors[theme];
  const { query, key, value } = colors[theme];
  const signed = (hue) => scaleOf([muted, background, hue]);
  return {
    scales: {
      "": scaleOf(diverging),
      weight: scaleOf(sequential),
      query: signed(query),
      key: signed(key),
      value: signed(value),
    },
    hues: { query, key, value, weight: accent, "": text },
    ...{ forbidden, notFinite, background, muted, text, accent, border, theme },
  };
}

function levelOf(quantity, value) {
  if (quantity.hue === "weight") return Math.round(LEVELS * Math.min(Math.max(value, 0), 1) ** 0.77);
  const share = Math.min(Math.max(value / quantity.most, -1), 1);
  return Math.round(LEVELS * (0.5 + 0.5 * Math.sign(share) * Math.abs(share) ** 0.8));
}

function channelsOf(palette, quantity, value) {
  if (value === -Infinity || (quantity.name === "mask" && !value)) return channels(palette.forbidden);
  if (!Number.isFinite(value)) return channels(palette.notFinite);
  if (quantity.name === "mask") return palette.scales.weight[ALLOWED];
  return palette.scales[quantity.hue][levelOf(quantity, value)];
}

export function colorOf(palette, quantity, value) {
  return `rgb(${channelsOf(palette, quantity, value).join()})`;
}

function isDeep([red, green, blue]) {
  const light = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  return light < 0.52;
}

export function inkOf(palette, quantity, value) {
  return isDeep(channelsOf(palette, quantity, value)) ? "#FFFFFF" : "#14161C";
}

export function pictureOf(palette, quantity, isUpright) {
  // The whole quantity as a picture: a row of numbers is a row of pixels, or upright a column of them.
  const name = `${palette.theme}.${isUpright}`;
  let node = pictures.get(quantity.values);
  if (!node) pictures.set(quantity.values, (node = {}));
  if (node[name]) return node[name];
  const { n, width, values } = quantity;
  const canvas = document.createElement("canvas");
  Object.assign(canvas, isUpright ? { width: n, height: width } : { width, height: n });
  const context = brushOf(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < width; column++) {
      const pixel = isUpright ? column * n + row : row * width + column;
      image.data.set([...channelsOf(palette, quantity, values[row * width + column]), 255], 4 * pixel);
    }
  }
  context.putImageData(image, 0, 0);
  return (node[name] = canvas);
}
