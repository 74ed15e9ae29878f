// Shared by the pictures of masks: cells on a canvas, and the colors of both themes.
//
// colors of a theme: allowed, forbidden, text, muted, border, background; sequential and diverging as [value, color].

import { brushOf } from "../../../../../headlight/components/kit/canvas.js";
import { channels, mixed } from "../../../../../headlight/components/kit/colors.js";

export function colorAt(stops, value) {
  // The color of a value on a scale of [value, color], mixed between two given ones.
  return `rgb(${mixed(stops.map(([stop, color]) => [stop, channels(color)]), value).join()})`;
}

export function prepare(canvas, width, height) {
  // A canvas of that many CSS pixels, cleared, sharp on every screen.
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = brushOf(canvas);
  context.scale(ratio, ratio);
  return context;
}

export function paintMiniature(canvas, { rows, columns, cells }, colors, side) {
  // A whole mask in a box of `side` pixels: allowed cells in color.
  const scale = Math.min(side / rows, side / columns);
  const [width, height] = [Math.max(columns * scale, 8), Math.max(rows * scale, 8)];
  const context = prepare(canvas, width, height);
  context.fillStyle = colors.forbidden;
  context.fillRect(0, 0, width, height);
  context.fillStyle = colors.allowed;
  const edge = (index, n, whole) => Math.round((index * whole) / n);
  const gap = scale >= 5 ? 1 : 0;
  for (let row = 0, cell = 0; row < rows; row++) {
    const top = edge(row, rows, height);
    for (let column = 0; column < columns; column++, cell++) {
      if (!cells[cell]) continue;
      const left = edge(column, columns, width);
      const [right, bottom] = [edge(column + 1, columns, width), edge(row + 1, rows, height)];
      context.fillRect(left, top, right - left - gap, bottom - top - gap);
    }
  }
}
