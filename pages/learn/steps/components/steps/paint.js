// Paints the figure onto its canvas: what is done is calm, the present stage is bright, what comes is faint.

import { brushOf } from "../../../../../headlight/components/kit/canvas.js";
import { LANE, PARTS, rectOf, STRIP } from "./columns.js";
import { numberRect } from "./marks.js";
import { WEIGHTED } from "./numbers.js";
import { paintFrame, paintRow, paintStrip, paintUpright, writeIn } from "./strips.js";
import { placeTokens } from "./tokens_shown.js";
import { boxesNow, paintFlights, paintLinks, turnNow } from "./travel.js";

const DONE = 0.6; // opacity
const TO_COME = { light: 0.18, dark: 0.28 }; // what is bright on white is dim on black

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
  paintBorder(context, view, boxes);
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
  // The row of the selected key, from its token to its weighted value.
  const last = view.columns.findIndex((column) => column.id === WEIGHTED);
  const { top, pitch } = view.lines;
  const key = view.pointedKey ?? view.key;
  context.globalAlpha = 1;
  context.fillStyle = `${view.palette.text}14`;
  context.beginPath();
  context.roundRect(boxes[0].x - 2, top + key * pitch, boxes[last].x + boxes[last].w - boxes[0].x + 6, pitch, 4);
  context.fill();
}

function paintBorder(context, { columns, header, lines, palette }, boxes) {
  // A line between two texts, above the row of the first key of the second one.
  if (!header.border.key) return;
  const last = boxes[columns.findIndex((column) => column.id === WEIGHTED)];
  context.globalAlpha = 1;
  context.fillStyle = `${palette.text}88`;
  context.fillRect(boxes[0].x, lines.top + header.border.key * lines.pitch - 1, last.x + last.w - boxes[0].x + 4, 1.5);
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
  const { quantities, palette, font, sizes } = view;
  const names = [column.full, column.query, column.rows].filter(Boolean);
  const symbols = [...new Set(names)].map((name) => quantities.get(name));
  context.globalAlpha = isPresent ? 1 : opacityNow(view, names[0]);
  context.font = `${isPresent ? 650 : 400} ${sizes.name}px ${font}`;
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
