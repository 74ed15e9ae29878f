// Paints the figure onto its canvas: what is done is calm, the present stage is bright, what comes is faint.

import { brushOf } from "../../../../components/kit/canvas.js";
import { fixed } from "../../../../components/kit/numbers.js";
import { colorOf, inkOf, pictureOf } from "./colors.js";
import { LANE, PARTS, rectOf, STRIP } from "./columns.js";
import { valueAt, WEIGHTED } from "./numbers.js";
import { numberRect } from "./pointing.js";
import { placeTokens } from "./tokens.js";
import { boxesNow, paintFlights, paintLinks, turnNow } from "./travel.js";

const DONE = 0.6; // opacity
const TO_COME = { light: 0.18, dark: 0.28 }; // what is bright on white is dim on black
const NUMBERS = { width: 38, height: 11 }; // px that a number in a cell needs
export const HEAD_GAP = 3; // px between the heads of a vector

export function paint(view) {
  const { canvas, width, lines, palette, columns } = view;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(lines.height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(lines.height * ratio);
  }
  const context = brushOf(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, lines.height);
  const boxes = boxesNow(view);
  view.boxes = boxes;
  paintKey(context, view, boxes);
  paintLinks(context, view, boxes);
  columns.forEach((column, place) => paintColumn(context, view, column, boxes[place]));
  paintFlights(context, view, boxes);
  paintNames(context, view, boxes);
  paintMarks(context, view, boxes);
  context.globalAlpha = 1;
  placeTokens(view, boxes[0]);
  return palette;
}

function opacityOf(view, name, stage) {
  if (view.header.stages[stage].shown.has(name)) return 1;
  return view.born.get(name) < stage ? DONE : TO_COME[view.palette.theme];
}

function opacityNow(view, name) {
  const { motion, stage } = view;
  const to = opacityOf(view, name, stage);
  if (!motion) return to;
  const from = opacityOf(view, name, motion.from);
  const isArriving = motion.flies && view.header.stages[stage].fresh.includes(name);
  return from + (to - from) * (isArriving ? Math.min(1, Math.max(0, (turnNow(view, name) - 0.7) / 0.3)) : motion.share);
}

function paintKey(context, view, boxes) {
  // The row of the key that is looked at, from its token to its weighted value.
  const last = view.columns.findIndex((column) => column.id === WEIGHTED);
  const { top, pitch } = view.lines;
  const key = view.pointedKey ?? view.key;
  context.globalAlpha = 1;
  context.fillStyle = `${view.palette.text}14`;
  context.beginPath();
  context.roundRect(boxes[0].x - 2, top + key * pitch, boxes[last].x + boxes[last].w - boxes[0].x + 6, pitch, 4);
  context.fill();
}

function paintColumn(context, view, column, box) {
  const { quantities, lines, query } = view;
  if (column.query) {
    const quantity = quantities.get(column.query);
    context.globalAlpha = opacityNow(view, column.query);
    paintStrip(context, view, quantity, query, rectOf(view, "query", box));
    paintFrame(context, view, quantity, rectOf(view, "query", box));
  }
  if (column.rows) {
    const quantity = quantities.get(column.rows);
    const opacity = opacityNow(view, column.rows);
    for (let row = 0; row < lines.n; row++) {
      context.globalAlpha = opacity;
      paintRow(context, view, column, quantity, row, rectOf(view, "rows", box, row));
    }
  }
  if (column.foot) {
    const quantity = quantities.get(column.foot);
    context.globalAlpha = opacityNow(view, column.foot);
    paintStrip(context, view, quantity, query, rectOf(view, "foot", box));
    paintFrame(context, view, quantity, rectOf(view, "foot", box));
  }
  if (column.full) {
    context.globalAlpha = opacityNow(view, column.full);
    paintUpright(context, view, quantities.get(column.full), rectOf(view, "full", box));
  }
}

export function paintRow(context, view, column, quantity, row, rect) {
  if (column.kind === "strip") return paintStrip(context, view, quantity, row, rect);
  const value = valueAt(quantity, view.query, row);
  if (column.kind === "bar") return paintBar(context, view, value, row, rect);
  context.fillStyle = colorOf(view.palette, quantity, value);
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.w, rect.h, 3);
  context.fill();
  if (!hasRoom(context, rect)) return;
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
  if (!hasRoom(context, rect)) return;
  const x = value > 0.55 ? rect.x + rect.w * value - 5 : rect.x + rect.w * value + 5;
  const ink = value > 0.55 ? palette.background : palette.text;
  writeIn(context, view, isAllowed ? rounded(value) : "0", x, rect.y + rect.h / 2, ink, value > 0.55 ? "right" : "left");
}

function hasRoom({ globalAlpha }, { w, h }) {
  return globalAlpha > 0.3 && w >= NUMBERS.width && h >= NUMBERS.height;
}

function rounded(value) {
  return fixed(value, Math.abs(value) < 100 ? 2 : 0);
}

export function writeIn(context, { font }, text, x, y, color, align = "center") {
  context.font = `11px ${font}`;
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

export function slotOf(rect, head, n) {
  const h = (rect.h - HEAD_GAP * (n - 1)) / n;
  return { x: rect.x, y: rect.y + head * (h + HEAD_GAP), w: rect.w, h };
}

function paintFrame(context, { palette }, quantity, { x, y, w, h }, width = 1) {
  context.strokeStyle = palette.hues[quantity.hue];
  context.lineWidth = quantity.hue && width === 1 ? 1.5 : width;
  context.beginPath();
  context.roundRect(x - 0.5, y - 0.5, w + 1, h + 1, 2);
  context.stroke();
}

function paintNames(context, view, boxes) {
  // The symbols above the columns: those of the present stage, and of the others as many as have room beside them.
  const { columns, header, stage, lines, palette, quantities } = view;
  const { shown } = header.stages[stage];
  const isPresent = (column) => PARTS.some((part) => shown.has(column[part]));
  const taken = [];
  const order = [...columns.keys()].filter((place) => columns[place].kind !== "tokens");
  for (const place of order.sort((one, other) => Number(isPresent(columns[other])) - Number(isPresent(columns[one])))) {
    paintName(context, view, columns[place], boxes[place], isPresent(columns[place]), taken);
    const { foot } = columns[place];
    if (!foot) continue;
    context.globalAlpha = opacityNow(view, foot);
    const { symbol, hue } = quantities.get(foot);
    writeIn(context, view, symbol, boxes[place].x - 8, lines.foot + STRIP / 2, palette.hues[hue], "right");
  }
}

function paintName(context, view, column, { x, w }, isPresent, taken) {
  const { quantities, palette, font } = view;
  const names = [column.full, column.query, column.rows].filter(Boolean);
  const symbols = [...new Set(names)].map((name) => quantities.get(name));
  context.globalAlpha = isPresent ? 1 : opacityNow(view, names[0]);
  context.font = `${isPresent ? 650 : 400} 12px ${font}`;
  const widths = symbols.map(({ caption }) => context.measureText(caption).width);
  const all = widths.reduce((sum, width) => sum + width, 8 * (symbols.length - 1));
  let at = x + w / 2 - all / 2;
  const [from, to] = [at - 2, at + all + 2];
  if (!isPresent && taken.some(([start, end]) => from < end && start < to)) return;
  taken.push([from, to]);
  Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
  symbols.forEach(({ caption, hue }, place) => {
    context.fillStyle = palette.hues[hue];
    context.fillText(caption, at, LANE - 10);
    at += widths[place] + 8;
  });
}

function paintMarks(context, view, boxes) {
  // What is pointed at, and the number whose formula is open.
  const { pointed, cell, palette } = view;
  context.globalAlpha = 1;
  for (const [mark, width] of [[pointed, 1.5], [cell, 2]]) {
    const rect = mark && numberRect(view, boxes, mark);
    if (!rect) continue;
    context.strokeStyle = palette.text;
    context.lineWidth = width;
    context.strokeRect(rect.x - 1, rect.y - 1, rect.w + 2, rect.h + 2);
  }
}
