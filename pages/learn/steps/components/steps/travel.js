// How numbers travel from one stage to the next: along curves, as the strips and cells that they are.

import { between, FAN, LANE, layOut, rectOf, slotOf, STRIP } from "./columns.js";
import { OF_STAGES, OPERATIONS, partOf } from "./links.js";
import { paintRow, paintStrip, paintUpright, writeIn } from "./strips.js";

const STAGGER = 0.25; // of a flight, from the first key to the last
const CURVES = { done: 0.16, present: 0.55 }; // opacity

export function ease(share) {
  return share < 0.5 ? 4 * share ** 3 : 1 - (-2 * share + 2) ** 3 / 2;
}

export function boxesNow(view) {
  const to = layOutOnce(view, view.stage);
  if (!view.motion) return to;
  const from = layOutOnce(view, view.motion.from);
  return to.map((box, place) => between(from[place], box, view.motion.share));
}

function layOutOnce(view, stage) {
  view.layouts ??= new Map();
  if (!view.layouts.has(stage)) view.layouts.set(stage, layOut(view, stage));
  return view.layouts.get(stage);
}

function endsOf(view, boxes, { from, to }) {
  // The rectangles that a link connects, each with what is drawn there: one a key, or one alone.
  const { home, columns, lines, header } = view;
  const [source, target] = [home.get(from), home.get(to)];
  const toPart = partOf(target, to);
  const fromPart = toPart === "rows" && source.rows === from ? "rows" : partOf(source, from);
  const boxOf = (column) => boxes[columns.indexOf(column)];
  const rect = (column, part, row) => rectOf(view, part, boxOf(column), row);
  const isByKey = [fromPart, toPart].includes("rows");
  return Array.from({ length: isByKey ? lines.n : 1 }, (_, row) => {
    const end = rect(target, toPart, row);
    const nHeads = header.nHeads;
    return {
      row,
      start: { rect: rect(source, fromPart, row), column: source, part: fromPart, name: from },
      end: { rect: to === "concat" ? slotOf(end, header.head, nHeads) : end, column: target, part: toPart, name: to },
    };
  });
}

function curve(context, one, other) {
  // From the right side of one rectangle to the left side of another; what only adds up below goes straight down.
  const [x0, y0] = [one.x + one.w, one.y + one.h / 2];
  const [x1, y1] = [other.x, other.y + other.h / 2];
  context.beginPath();
  context.moveTo(x0, y0);
  const bend = Math.max(10, (x1 - x0) / 2);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  context.stroke();
}

function arc(context, one, other, height) {
  // A residual connection: over everything that lies between.
  const [x0, y0] = [one.x + Math.max(one.w - 8, one.w / 2), one.y - 2];
  const [x1, y1] = [other.x + 4, other.y - 2];
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, height, x0 + 4, height, x0 + 14, height);
  context.lineTo(x1 - 14, height);
  context.bezierCurveTo(x1 - 4, height, x1, height, x1, y1);
  context.stroke();
}

export function paintLinks(context, view, boxes) {
  const { header, stage, palette, quantities } = view;
  header.stages.forEach(({ links }, index) => {
    if (index > stage) return;
    const isPresent = index === stage;
    const named = new Set(); // what several links make has its operation in front of it once
    for (const link of links) {
      const ends = endsOf(view, boxes, link);
      const hue = palette.hues[quantities.get(link.from).hue] ?? palette.muted;
      context.strokeStyle = quantities.get(link.from).hue ? hue : palette.muted;
      for (const { start, end, row } of ends) {
        const isOfKey = ends.length > 1 && row === (view.pointedKey ?? view.key);
        const isFan = ends.length > 1 && [start.part, end.part].some((part) => part !== "rows");
        const done = isFan && !isOfKey ? CURVES.done / 4 : CURVES.done;
        context.globalAlpha = isPresent ? CURVES.present * (isOfKey || ends.length === 1 ? 1.5 : 0.7) : done;
        context.lineWidth = isPresent && (isOfKey || ends.length === 1) ? 2 : 1;
        if (isResidual(link)) arc(context, start.rect, end.rect, 5);
        else if (end.part === "foot") fall(context, start.rect, end.rect);
        else if (end.rect.x > start.rect.x + start.rect.w) curve(context, start.rect, end.rect);
      }
      if (isPresent && !named.has(link.to) && paintOperation(context, view, link, ends, boxes)) named.add(link.to);
    }
  });
}

function isResidual({ to, from }) {
  return to.startsWith("resid") && !["attn_out", "cross_out", "mlp_out"].includes(from);
}

function fall(context, one, other) {
  const x = one.x + one.w;
  context.beginPath();
  context.moveTo(x, one.y + one.h / 2);
  context.quadraticCurveTo(x + 12, other.y - 8, x - 4, other.y);
  context.stroke();
}

function paintOperation(context, view, link, ends, boxes) {
  // The name of the operation, in the gap in front of what it makes, if there is room; returns whether there was.
  const { palette, font, sizes, columns, home } = view;
  const text = OF_STAGES[view.stageName] ?? OPERATIONS[link.to];
  if (!text || isResidual(link) || ends[0].end.part === "foot") return false;
  const place = columns.indexOf(home.get(link.to));
  const gap = boxes[place].x - (boxes[place - 1].x + boxes[place - 1].w);
  context.font = `600 ${sizes.number}px ${font}`;
  const width = context.measureText(text).width + 8;
  if (width > gap + 6) return false;
  const { rect } = ends[0].end;
  const y = ends.length > 1 ? LANE + STRIP + FAN / 2 : rect.y + rect.h / 2;
  const x = boxes[place].x - gap / 2;
  context.globalAlpha = 1;
  context.fillStyle = palette.background;
  context.strokeStyle = palette.border;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(x - width / 2, y - 9, width, 18, 9);
  context.fill();
  context.stroke();
  writeIn(context, view, text, x, y, palette.text);
  return true;
}

export function turnNow({ motion, header, stage }, name) {
  // How far the flights are that make something new, in [0, 1]; below and above, they have not begun or are over.
  const { turns, nTurns } = header.stages[stage];
  return motion.time * nTurns - (turns.get(name) ?? 0);
}

export function paintFlights(context, view, boxes) {
  const { motion, header, stage } = view;
  if (!motion?.flies) return;
  for (const link of header.stages[stage].links) {
    const ends = endsOf(view, boxes, link);
    for (const { start, end, row } of ends) {
      const delay = (STAGGER * row) / ends.length;
      const share = ease(Math.min(Math.max((turnNow(view, link.to) - delay) / (1 - STAGGER), 0), 1));
      if (share <= 0 || share >= 1) continue;
      const rect = between(start.rect, end.rect, share);
      context.globalAlpha = 0.9 * (1 - share);
      paintPart(context, view, start, row, rect);
      context.globalAlpha = 0.9 * share;
      paintPart(context, view, end, row, rect);
    }
  }
}

function paintPart(context, view, { column, part, name }, row, rect) {
  const quantity = view.quantities.get(name);
  if (part === "rows") paintRow(context, view, column, quantity, row, rect);
  else if (part !== "full") paintStrip(context, view, quantity, view.query, rect);
  else if (name === "concat") paintStrip(context, view, view.quantities.get("z"), view.query, rect);
  else paintUpright(context, view, quantity, rect);
}
