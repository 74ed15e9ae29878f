// Paints the pictures of all heads onto the one canvas that lies under their buttons.
//
// One byte a cell: 0 to 253 for weights from 0 to 1, 254 for NaN, 255 where the mask does not allow the cell. Of a long text a cell
// of the picture is the largest of several, and so is a pixel of a picture that has more cells than the screen has room
// for: a line that is one cell wide stays a line.

import { brushOf } from "../kit/canvas.js";
import { channels, mixed } from "../kit/colors.js";

const NOT_FINITE = 254;
const FORBIDDEN = 255;
const CORNER = 4; // px, as in overview.css

export function paint(view) {
  const { canvas, field, header } = view;
  if (!header || !field.offsetWidth) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [field.offsetWidth, field.offsetHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = brushOf(canvas);
  const colors = colorsOf(view);
  const origin = field.getBoundingClientRect();
  for (const item of view.rows.flat()) {
    const box = item.button.getBoundingClientRect();
    const [left, top] = [Math.round((box.left - origin.left) * ratio), Math.round((box.top - origin.top) * ratio)];
    const [w, h] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    context.save();
    context.beginPath();
    context.roundRect(left, top, w, h, Math.min(CORNER * ratio, 0.12 * w));
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(picture(item, colors, w, h), left, top, w, h);
    if (header.divided) divide(context, header.divided, left, top, w, h);
    context.restore();
  }
}

function divide(context, { share, dash, color }, left, top, width, height) {
  // Lines between two texts, or dotted ones before what the model wrote after the text, as in the large picture.
  const line = window.devicePixelRatio || 1;
  context.strokeStyle = color;
  context.lineWidth = line;
  context.setLineDash(dash ? [dash * line, dash * line] : []);
  const [x, y] = [left + Math.round(share * width) - line / 2, top + Math.round(share * height) - line / 2];
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, top + height);
  context.moveTo(left, y);
  context.lineTo(left + width, y);
  context.stroke();
}

function picture(item, colors, widest, highest) {
  const [width, height] = [Math.min(item.columns, widest), Math.min(item.rows, highest)];
  const wanted = [item.levels, colors, width, height];
  if (item.painted?.every((part, i) => part === wanted[i])) return item.canvas;
  if (item.canvas?.width !== width || item.canvas.height !== height) {
    item.canvas = new OffscreenCanvas(width, height);
    item.image = new ImageData(width, height);
    item.pixels = new Uint32Array(item.image.data.buffer);
  }
  const levels = width < item.columns || height < item.rows ? largest(item, width, height) : item.levels;
  for (let cell = 0; cell < levels.length; cell++) item.pixels[cell] = colors[levels[cell]];
  brushOf(item.canvas).putImageData(item.image, 0, 0);
  item.painted = wanted;
  return item.canvas;
}

function largest({ levels, rows, columns }, width, height) {
  // Of the cells that share a pixel; what is forbidden counts as less than nothing.
  const strongest = new Uint8Array(width * height);
  const across = Uint32Array.from({ length: columns }, (_, column) => Math.floor((column * width) / columns));
  for (let cell = 0, row = 0; row < rows; row++) {
    const start = Math.floor((row * height) / rows) * width;
    for (let column = 0; column < columns; column++, cell++) {
      const place = start + across[column];
      const more = (levels[cell] + 1) & FORBIDDEN;
      if (more > strongest[place]) strongest[place] = more;
    }
  }
  return strongest.map((more) => more - 1);
}

function colorsOf(view) {
  const theme = view.theme();
  return ((view.palettes ??= {})[theme] ??= palette(view.header.scales[theme]));
}

function palette({ sequential, forbidden, notFinite }) {
  // 256 colors as the four bytes of a pixel; levels between two given colors are mixed.
  const stops = sequential.map(([value, color]) => [value, channels(color)]);
  const colors = new Uint8ClampedArray(4 * 256);
  for (let level = 0; level < NOT_FINITE; level++) {
    colors.set([...mixed(stops, level / (NOT_FINITE - 1)), 255], 4 * level);
  }
  colors.set([...channels(notFinite), 255], 4 * NOT_FINITE);
  colors.set([...channels(forbidden), 255], 4 * FORBIDDEN);
  return new Uint32Array(colors.buffer);
}
