// Paints parts of the figure: strips, cells and bars, upright vectors, the frames around them, and what is written there.

import { fixed } from "../../../../../headlight/components/kit/numbers.js";
import { colorOf, inkOf, pictureOf } from "./colors.js";
import { slotOf } from "./columns.js";
import { valueAt } from "./numbers.js";

const NUMBERS = { width: 3.4, height: 1 }; // sizes of its text that a number in a cell needs

export function paintRow(context, view, column, quantity, row, rect) {
  if (column.kind === "strip") return paintStrip(context, view, quantity, row, rect);
  const value = valueAt(quantity, view.query, row);
  if (column.kind === "bar") return paintBar(context, view, value, row, rect);
  context.fillStyle = colorOf(view.palette, quantity, value);
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.w, rect.h, 3);
  context.fill();
  if (!hasRoom(context, rect, view)) return;
  const text = quantity.name === "mask" ? (value ? "✓" : "✕") : rounded(value);
  writeIn(context, view, text, rect.x + rect.w / 2, rect.y + rect.h / 2, inkOf(view.palette, quantity, value));
}

function paintBar(context, view, value, row, rect) {
  const { palette } = view;
  const isAllowed = !view.quantities.has("mask") || valueAt(view.quantities.get("mask"), view.query, row);
  context.fillStyle = isAllowed ? `${palette.accent}24` : palette.forbidden;
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.w, rect.h, 3);
  context.fill();
  if (value > 0) {
    context.fillStyle = palette.accent;
    context.beginPath();
    context.roundRect(rect.x, rect.y, Math.max(1.5, rect.w * value), rect.h, Math.min(3, rect.w * value));
    context.fill();
  }
  if (!hasRoom(context, rect, view)) return;
  const x = value > 0.55 ? rect.x + rect.w * value - 5 : rect.x + rect.w * value + 5;
  const ink = value > 0.55 ? palette.background : palette.text;
  writeIn(context, view, isAllowed ? rounded(value) : "0", x, rect.y + rect.h / 2, ink, value > 0.55 ? "right" : "left");
}

function hasRoom({ globalAlpha }, { w, h }, { sizes }) {
  return globalAlpha > 0.3 && w >= NUMBERS.width * sizes.number && h >= NUMBERS.height * sizes.number;
}

function rounded(value) {
  return fixed(value, Math.abs(value) < 100 ? 2 : 0);
}

export function writeIn(context, { font, sizes }, text, x, y, color, align = "center") {
  context.font = `${sizes.number}px ${font}`;
  Object.assign(context, { fillStyle: color, textAlign: align, textBaseline: "middle" });
  context.fillText(text, x, y + 0.5);
}

export function paintStrip(context, { palette }, quantity, row, rect) {
  const picture = pictureOf(palette, quantity, false);
  context.imageSmoothingEnabled = rect.w < quantity.width;
  context.drawImage(picture, 0, row, quantity.width, 1, rect.x, rect.y, rect.w, rect.h);
}

export function paintUpright(context, view, quantity, rect) {
  const { palette, query, header } = view;
  const isOfHeads = quantity.columns === "head d_head";
  const n = isOfHeads ? quantity.width / header.dHead : 1;
  const picture = pictureOf(palette, quantity, true);
  context.imageSmoothingEnabled = rect.h < quantity.width;
  for (let part = 0; part < n; part++) {
    const box = isOfHeads ? slotOf(rect, part, n) : rect;
    const rows = quantity.width / n;
    context.drawImage(picture, query, part * rows, 1, rows, box.x, box.y, box.w, box.h);
    const isOwn = quantity.name === "concat" && part === header.head;
    if (isOfHeads && context.globalAlpha === 1) writeIn(context, view, String(part), box.x - 7, box.y + box.h / 2, palette.muted);
    if (isOwn || !isOfHeads) paintFrame(context, view, quantity, box, isOwn ? 1.8 : 1);
  }
}

export function paintFrame(context, { palette }, quantity, { x, y, w, h }, width = 1) {
  context.strokeStyle = palette.hues[quantity.hue];
  context.lineWidth = quantity.hue && width === 1 ? 1.5 : width;
  context.beginPath();
  context.roundRect(x - 0.5, y - 0.5, w + 1, h + 1, 2);
  context.stroke();
}
